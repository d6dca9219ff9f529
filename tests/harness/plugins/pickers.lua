--- Doubles of picker plugins: they take what the plugins document, look at the preview of the item that the test
--- names, and choose it. `_G.picked` has what they were given.
local M = {}

---@param texts string[]
---@param preview string[]
local function note(name, title, texts, preview)
  _G.picked = { name = name, title = title, texts = texts, preview = preview }
end

--- snacks.nvim, docs/picker.md: `Snacks.picker.pick(opts)`.
function M.snacks(index)
  local snacks = { config = { picker = { enabled = true } }, picker = {} }
  function snacks.picker.pick(opts)
    assert(opts.format == 'text')
    local item, closed = opts.items[index], false
    local texts = vim.tbl_map(function(one)
      return one.text
    end, opts.items)
    local shown = {}
    local preview = {
      reset = function()
        shown = {}
      end,
      set_lines = function(_, lines)
        shown = lines
      end,
      highlight = function(_, how)
        assert(type(how.ft) == 'string')
      end,
    }
    if item then
      opts.preview({ item = item, preview = preview })
    end
    note('snacks', opts.title, texts, shown)
    opts.confirm({
      close = function()
        closed = true
      end,
    }, item)
    assert(closed)
  end
  package.loaded.snacks = snacks
end

--- telescope.nvim, developers.md.
function M.telescope(index)
  local chosen, replaced
  package.loaded.telescope = {}
  package.loaded['telescope.config'] = {
    values = {
      generic_sorter = function(opts)
        return { opts }
      end,
    },
  }
  package.loaded['telescope.finders'] = {
    new_table = function(opts)
      return vim.tbl_map(opts.entry_maker, opts.results)
    end,
  }
  package.loaded['telescope.previewers'] = {
    new_buffer_previewer = function(opts)
      return opts
    end,
  }
  package.loaded['telescope.actions.state'] = {
    get_selected_entry = function()
      return chosen
    end,
  }
  package.loaded['telescope.actions'] = {
    close = function(prompt)
      assert(prompt == 7)
    end,
    select_default = {
      replace = function(_, action)
        replaced = action
      end,
    },
  }
  package.loaded['telescope.pickers'] = {
    new = function(_, opts)
      assert(opts.sorter)
      return {
        find = function()
          chosen = opts.finder[index]
          local buf = vim.api.nvim_create_buf(false, true)
          if chosen then
            opts.previewer.define_preview({ state = { bufnr = buf } }, chosen)
          end
          local texts = vim.tbl_map(function(entry)
            assert(entry.ordinal == entry.display)
            return entry.display
          end, opts.finder)
          note('telescope', opts.prompt_title, texts, vim.api.nvim_buf_get_lines(buf, 0, -1, false))
          assert(opts.attach_mappings(7) == true)
          replaced()
        end,
      }
    end,
  }
end

--- fzf-lua, README and wiki: `fzf_exec(contents, opts)`; it shows what `--with-nth` names and gives the whole line.
M['fzf-lua'] = function(index)
  package.loaded['fzf-lua'] = {
    fzf_exec = function(lines, opts)
      assert(opts.fzf_opts['--delimiter'] == '\t' and opts.fzf_opts['--with-nth'] == '2..')
      local texts = vim.tbl_map(function(line)
        return line:match('\t(.*)$')
      end, lines)
      local preview = vim.split(opts.preview({ lines[index] or '' }), '\n')
      note('fzf-lua', opts.prompt:gsub('> $', ''), texts, preview)
      opts.actions['default']({ lines[index] })
    end,
  }
end

--- mini.pick, `:help MiniPick.start()`.
function M.mini(index)
  local mini = {
    start = function(opts)
      local source, buf = opts.source, vim.api.nvim_create_buf(false, true)
      local texts = vim.tbl_map(function(item)
        return item.text
      end, source.items)
      if source.items[index] then
        source.preview(buf, source.items[index])
      end
      note('mini', source.name, texts, vim.api.nvim_buf_get_lines(buf, 0, -1, false))
      if source.items[index] then
        source.choose(source.items[index])
      end
    end,
  }
  _G.MiniPick = mini
  package.loaded['mini.pick'] = mini
end

--- `vim.ui.select()`, which has no preview.
function M.select(index)
  vim.ui.select = function(items, opts, on_choice)
    note('select', opts.prompt, vim.tbl_map(opts.format_item, items), nil)
    on_choice(items[index])
  end
end

return M
