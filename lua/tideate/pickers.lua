--- A list in the user's picker: snacks, telescope, fzf-lua, mini.pick or `vim.ui.select()`.
--- Each adapter uses the documented interface of its plugin.
local M = {}

local ui = require('tideate.ui')

---@class tideate.PickItem
---@field text string one line
---@field value any
---@field preview? fun(): string[] returns lines, called on display
---@field filetype? string of the preview

---@alias tideate.Pick fun(title: string, items: tideate.PickItem[], on_choice: fun(value: any), kind?: string)

---@class tideate.PickerAdapter
---@field there fun(): boolean whether the plugin is set up
---@field open tideate.Pick

---@param name string
---@return any module nil if it is not installed
local function module(name)
  local ok, found = pcall(require, name)
  return ok and found or nil
end

---@param item tideate.PickItem
---@return string[]
local function preview_of(item)
  return item.preview and item.preview() or {}
end

---@param buf integer
---@param item tideate.PickItem
local function fill(buf, item)
  vim.bo[buf].modifiable = true
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, preview_of(item))
  vim.bo[buf].syntax = item.filetype or ''
end

--- Call back after the picker has closed.
---@param on_choice fun(value: any)
---@param item tideate.PickItem?
local function choose(on_choice, item)
  if item then
    vim.schedule(function()
      on_choice(item.value)
    end)
  end
end

---@type table<string, tideate.PickerAdapter>
local ADAPTERS = {}

ADAPTERS.snacks = {
  there = function()
    local snacks = module('snacks')
    return snacks ~= nil and vim.tbl_get(snacks, 'config', 'picker', 'enabled') == true
  end,
  open = function(title, items, on_choice)
    require('snacks').picker.pick({
      title = title,
      items = vim.tbl_map(function(item)
        return { text = item.text, item = item }
      end, items),
      format = 'text',
      preview = function(context)
        local item = context.item.item
        context.preview:reset()
        context.preview:set_lines(preview_of(item))
        if item.filetype then
          context.preview:highlight({ ft = item.filetype })
        end
      end,
      confirm = function(picker, chosen)
        picker:close()
        choose(on_choice, chosen and chosen.item)
      end,
    })
  end,
}

ADAPTERS.telescope = {
  there = function()
    return module('telescope') ~= nil
  end,
  open = function(title, items, on_choice)
    local actions, state = require('telescope.actions'), require('telescope.actions.state')
    require('telescope.pickers')
      .new({}, {
        prompt_title = title,
        finder = require('telescope.finders').new_table({
          results = items,
          entry_maker = function(item)
            return { value = item, display = item.text, ordinal = item.text }
          end,
        }),
        sorter = require('telescope.config').values.generic_sorter({}),
        previewer = require('telescope.previewers').new_buffer_previewer({
          title = title,
          define_preview = function(self, entry)
            fill(self.state.bufnr, entry.value)
          end,
        }),
        attach_mappings = function(prompt)
          actions.select_default:replace(function()
            local entry = state.get_selected_entry()
            actions.close(prompt)
            choose(on_choice, entry and entry.value)
          end)
          return true
        end,
      })
      :find()
  end,
}

ADAPTERS['fzf-lua'] = {
  there = function()
    return module('fzf-lua') ~= nil
  end,
  open = function(title, items, on_choice)
    local function item_of(selected)
      return items[tonumber((selected and selected[1] or ''):match('^%d+'))]
    end
    local lines = {}
    for index, item in ipairs(items) do
      lines[index] = ('%d\t%s'):format(index, item.text)
    end
    require('fzf-lua').fzf_exec(lines, {
      prompt = title .. '> ',
      previewer = false,
      fzf_opts = { ['--delimiter'] = '\t', ['--with-nth'] = '2..' },
      preview = function(selected)
        local item = item_of(selected)
        return item and table.concat(preview_of(item), '\n') or ''
      end,
      actions = {
        ['default'] = function(selected)
          choose(on_choice, item_of(selected))
        end,
      },
    })
  end,
}

ADAPTERS.mini = {
  there = function()
    return _G.MiniPick ~= nil -- set by its `setup()`
  end,
  open = function(title, items, on_choice)
    require('mini.pick').start({
      source = {
        name = title,
        items = items,
        choose = function(item)
          choose(on_choice, item)
        end,
        preview = fill,
      },
    })
  end,
}

ADAPTERS.select = {
  there = function()
    return true
  end,
  open = function(title, items, on_choice, kind)
    local texts, values = {}, {}
    for index, item in ipairs(items) do
      values[index], texts[item.value] = item.value, item.text
    end
    local opts = {
      prompt = title,
      kind = kind or 'tideate.pick',
      format_item = function(value)
        return texts[value]
      end,
    }
    ui.select(values, opts, function(value)
      if value ~= nil then
        on_choice(value)
      end
    end)
  end,
}

local ORDER = { 'snacks', 'telescope', 'fzf-lua', 'mini', 'select' }

--- Return the picker: the configured one, else the first one available.
---@return string? name, string? err
function M.name()
  local wanted = require('tideate.config').get('picker')
  if wanted == 'auto' then
    return vim.iter(ORDER):find(function(name)
      return ADAPTERS[name].there()
    end)
  elseif ADAPTERS[wanted].there() then
    return wanted
  end
  return nil, ("the picker '%s' is not there: install it and set it up, or set `picker` to another"):format(wanted)
end

--- Choose an item; without a choice nothing is called.
---@param title string
---@param items tideate.PickItem[]
---@param on_choice fun(value: any)
---@param kind? string `kind` of `vim.ui.select()`; default: `tideate.pick`
function M.open(title, items, on_choice, kind)
  local name, err = M.name()
  if not name then
    return ui.fail(err --[[@as string]])
  elseif #items == 0 then
    return ui.notify(('%s: there is nothing to choose from'):format(title:lower()))
  end
  ADAPTERS[name].open(title, items, on_choice, kind)
end

return M
