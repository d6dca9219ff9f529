--- Export of runs into a new buffer or a file.
local M = {}

local ui = require('tideate.ui')
local run_choice = require('tideate.run_choice')
local stored_runs = require('tideate.stored_runs')

---@class tideate.ui.ExportFormat
---@field name string of the host
---@field label string
---@field extension string

---@type tideate.ui.ExportFormat[]
local FORMATS = {
  { name = 'markdown', label = 'Markdown', extension = 'md' },
  { name = 'json', label = 'JSON', extension = 'json' },
}

--- Return a name without a file or a buffer.
---@param stem string
---@param extension string
---@return string
local function free_name(stem, extension)
  local name, number = ('%s.%s'):format(stem, extension), 1
  while vim.uv.fs_stat(name) or vim.fn.bufexists(vim.fn.fnamemodify(name, ':p')) == 1 do
    number = number + 1
    name = ('%s-%d.%s'):format(stem, number, extension)
  end
  return name
end

---@param ids string[]
---@param format tideate.ui.ExportFormat
---@param text string
---@param path? string to write it to
local function open(ids, format, text, path)
  local short = stored_runs.short
  local stem = #ids == 1 and 'run-' .. short(ids[1]) or ('runs-%s-and-%d'):format(short(ids[1]), #ids - 1)
  local win = require('tideate.ui.window').for_files()
  if win then
    vim.api.nvim_set_current_win(win)
  end
  vim.cmd('aboveleft new')
  vim.api.nvim_buf_set_lines(0, 0, -1, true, vim.split((text:gsub('\n$', '')), '\n', { plain = true }))
  -- a buffer of this name may be new since the request
  local named, taken = pcall(vim.api.nvim_buf_set_name, 0, path or free_name(stem, format.extension))
  vim.bo.modeline = false
  vim.bo.filetype = format.name
  vim.bo.modified = true
  local ok, err = named, taken ---@type boolean, any
  if path and named then
    ok, err = pcall(vim.cmd.write)
  end
  local words = ok and (path and 'written: ' .. path or ':write saves it') or ('not written: %s'):format(err)
  ui.notify(words, ok and vim.log.levels.INFO or vim.log.levels.ERROR)
end

---@param ids string[]
---@param format tideate.ui.ExportFormat
---@param folder string
---@param path? string
local function export(ids, format, folder, path)
  local params = { execution_ids = ids, format = format.name, folder = folder }
  stored_runs.ask('export', params, function(result)
    open(ids, format, result.text, path)
  end)
end

---@param word string
---@return tideate.ui.ExportFormat?
local function format_of(word)
  return vim.iter(FORMATS):find(function(format)
    return format.name == word or vim.endswith(word, '.' .. format.extension)
  end)
end

--- Parse `[id] [format] [file]`; the file's name sets the format if none is given.
---@param rest string
---@return string? id, tideate.ui.ExportFormat? format, string? path_or_err
local function read(rest)
  rest = rest:gsub('^last%f[%s%z]%s*', '') -- without an id it is the newest, too
  local id = rest:match('^%S*'):match('^%x%x%x%x+$')
  rest = vim.trim(rest:sub(#(id or '') + 1))
  local word = rest:match('^%S*')
  local format = word ~= '' and not word:find('.', 1, true) and format_of(word) or nil
  if word ~= '' and not format and rest == word and not rest:find('[./\\]') then
    local names = vim.tbl_map(function(one)
      return one.name
    end, FORMATS)
    local words = "there is no format '%s'%s; the name of a file has a '.' or a '/'"
    return nil, nil, words:format(word, require('tideate.did_you_mean').hint(word, names))
  end
  local path = format and vim.trim(rest:sub(#word + 1)) or rest
  return id, format or format_of(path) or FORMATS[1], path ~= '' and path or nil
end

--- Run `:Workflow export`.
---@param rest string
function M.run(rest)
  local folder = require('tideate.context').folder()
  local id, format, path = read(rest)
  if not format then
    return ui.fail(path --[[@as string]])
  end
  path = path and vim.fn.fnamemodify(vim.fs.normalize(path), ':p')
  if path and (vim.uv.fs_stat(path) or vim.fn.bufexists(path) == 1) then
    return ui.fail(path .. ' exists already; name another file')
  end
  local chats = package.loaded['tideate.ui.chat']
  local chat = chats and chats.of()
  -- the last run of a chat has its whole conversation
  id = id or chat and chat.tip or run_choice.found('', run_choice.any)
  if id then
    return export({ id }, format, folder, path)
  end
  stored_runs.ask('history', { limit = 1, folder = folder }, function(result)
    local newest = result.runs[1]
    if not newest then
      return ui.warn('there is no run yet')
    end
    export({ newest.execution_id }, format, folder, path)
  end)
end

--- Complete runs of this Neovim, formats and files.
---@param lead string
---@return string[]
function M.complete(lead)
  local found = run_choice.ids(run_choice.any)()
  for _, format in ipairs(FORMATS) do
    table.insert(found, format.name)
  end
  return vim.list_extend(found, require('tideate.file_completion').complete(lead))
end

--- Export the marked runs, else the run of a line.
---@param node tideate.ui.Node
---@param controls tideate.ui.PanelControls
function M.of(node, controls)
  local marks, ids = controls.marks(), {} ---@type table<string, tideate.ui.Node>, string[]
  for _, run in ipairs(controls.runs()) do
    if marks[run.id] then
      table.insert(ids, run.id)
    end
  end
  ids = #ids > 0 and ids or { node.run.id }
  local what = #ids == 1 and 'the run' or ('%d runs'):format(#ids)
  vim.ui.select(FORMATS, {
    prompt = ('Export %s as:'):format(what),
    format_item = function(format)
      return format.label
    end,
  }, function(format)
    if format then
      export(ids, format, controls.folder())
    end
  end)
end

return M
