--- Preview of a prompt's request, updated while the user types.
local M = {}

local TOKEN = 4 -- characters
local LARGEST = 400000 -- bytes of a buffer that is sent to the host after each pause
local PAUSE = 300 -- milliseconds without a change
local WHOLE = { refactor = true, summarize = true } -- take the whole buffer without a selection

local namespace = vim.api.nvim_create_namespace('tideate.prompt.unresolved')

---@class tideate.PromptPreview
---@field workflow string
---@field step string
---@field adapter string
---@field context_tokens? integer
---@field exact boolean
---@field system string
---@field user string
---@field tools string[]
---@field asks string[]
---@field notices string[]
---@field unresolved string[] mentions
---@field tasks table<string, string>
---@field inputs table<string, any>
---@field tokens integer

---@class tideate.ui.Preview
---@field private spec tideate.ui.PromptSpec
---@field private draw fun()
---@field private timer uv.uv_timer_t?
---@field private newest integer number of the last request
---@field private last? tideate.PromptPreview
---@field private last_size integer bytes of its prompt
---@field private failure? string
local Preview = {}
Preview.__index = Preview

---@param spec tideate.ui.PromptSpec
---@param draw fun() called after a change
---@return tideate.ui.Preview
function M.new(spec, draw)
  return setmetatable({ spec = spec, draw = draw, newest = 0, last_size = 0 }, Preview)
end

---@param result tideate.Result
---@return tideate.PromptPreview?
local function taken(result)
  local preview = result.ok and result.preview
  if type(preview) ~= 'table' then
    return nil
  end
  preview.context_tokens = type(preview.context_tokens) == 'number' and preview.context_tokens or nil
  return preview
end

--- Ask the host for the request that a run would send.
---@param name string of the workflow
---@param prompt string
---@param on_result? fun(preview: tideate.PromptPreview?, err: string?)
function Preview:ask(name, prompt, on_result)
  self.newest = self.newest + 1
  local number, spec = self.newest, self.spec
  local context = next(spec.context) and spec.context or nil -- an empty table would arrive as a list
  local params = { name = name, prompt = prompt, context = context, adapter = spec.adapter }
  params.adapter = params.adapter or require('tideate.model_choice').adapter_for(name)
  params.memory = spec.memory
  params.inputs = spec.inputs and next(spec.inputs) and spec.inputs or nil
  require('tideate.client').request('preview', params, function(result)
    local preview = taken(result)
    if number == self.newest then
      self.last, self.last_size = preview, #prompt
      self.failure = not preview and not result.cancelled and result.error or nil
      self.draw()
    end
    if on_result then
      on_result(preview, result.error)
    end
  end)
end

--- Ask after the next pause in typing.
---@param current fun(): string, string returns name and prompt
function Preview:later(current)
  self.timer = self.timer or assert(vim.uv.new_timer())
  self.timer:start(PAUSE, 0, vim.schedule_wrap(function()
    if self.timer then
      self:ask(current())
    end
  end))
end

--- Ask again after a change, unless the buffer is too large.
---@param current fun(): string, string
function Preview:changed(current)
  local buffer = self.spec.context.buffer
  if not buffer or #(buffer.text or '') <= LARGEST then
    self:later(current)
  end
end

function Preview:close()
  if self.timer then
    self.timer:close()
    self.timer = nil
  end
end

---@param count integer
---@return string
local function short(count)
  return count < 1000 and tostring(count) or ('%.1fk'):format(count / 1000):gsub('%.0k', 'k')
end

--- Describe the editor context of a prompt.
---@param context table<string, any> a `tideate.Context`; API callers may leave out fields
---@param workflow string
---@return string? words nil: no context
function M.about(context, workflow)
  if not context.buffer then
    return nil
  end
  local path = context.buffer.path or ''
  local name = path ~= '' and vim.fs.basename(path) or 'the buffer'
  local selection, cursor = context.selection, context.cursor
  if not selection and WHOLE[workflow] then
    local _, ends = (context.buffer.text or ''):gsub('\n', '')
    return ('the whole of %s, %d line%s'):format(name, ends + 1, ends == 0 and '' or 's')
  elseif not selection then
    return cursor and ('%s, line %d'):format(name, cursor.line) or name
  elseif selection.start == selection['end'] then
    return ('line %d of %s'):format(selection.start, name)
  end
  return ('lines %d-%d of %s'):format(selection.start, selection['end'], name)
end

--- Return the project memory of a prompt: `MEMORY.md` and mentions of earlier runs.
---@param notices string[]
---@return string[]
local function memory(notices)
  local found = {}
  for _, notice in ipairs(notices) do
    local listed = notice:match('^memory: (.*)')
    vim.list_extend(found, { listed and listed:match('^MEMORY%.md') })
    for mention in (listed or ''):gmatch('@run:%x+') do
      table.insert(found, mention)
    end
  end
  return found
end

--- Return the adapter of the request; nil while only the host knows it.
---@param name string
---@return string?
function Preview:model(name)
  if self.last and self.last.workflow == name then
    return self.last.adapter
  end
  return self.spec.adapter or require('tideate.model_choice').adapter_for(name)
end

--- Return the winbar: workflow, model, context, tokens.
---@param name string
---@param prompt string
---@return tideate.Chunk[]
function Preview:line(name, prompt)
  local model = self:model(name)
  local parts = { model and require('tideate.ui.text').name(model) }
  table.insert(parts, M.about(self.spec.context, name))
  local last = self.last
  local function is_about_rules(notice)
    return vim.startswith(notice, 'rules: ')
  end
  if last and vim.iter(last.notices):any(is_about_rules) then
    table.insert(parts, 'rules')
  end
  if self.spec.memory == false then
    table.insert(parts, 'without memory')
  elseif last then
    vim.list_extend(parts, memory(last.notices))
  end
  local tokens = math.ceil(#prompt / TOKEN)
  if last then
    tokens = math.max(0, last.tokens + math.floor((#prompt - self.last_size) / TOKEN))
  end
  local of = last and last.context_tokens and (' of %s'):format(short(last.context_tokens)) or ''
  table.insert(parts, ('~%s tokens%s'):format(short(tokens), of))
  local chunks = name ~= self.spec.name and { { (' %s ·'):format(name), 'TideateTitle' } } or {}
  if self.failure then
    table.insert(chunks, { (' %s ·'):format(self.failure), 'TideateWarning' })
  elseif last and #last.asks > 0 then
    table.insert(chunks, { ' asks first ·', 'TideateWarning' })
  end
  table.insert(chunks, { ' ' .. table.concat(parts, ' · '), 'TideateHint' })
  return chunks
end

--- Underline the mentions of a prompt that cannot be resolved.
---@param buf integer
function Preview:underline(buf)
  vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
  for _, mention in ipairs(self.last and self.last.unresolved or {}) do
    for row, line in ipairs(vim.api.nvim_buf_get_lines(buf, 0, -1, false)) do
      local start, stop = line:find(mention, 1, true)
      while start do
        local rest = line:sub(stop + 1)
        if not rest:find('^[%w_/-]') and not rest:find('^%.%w') then
          local mark = { end_col = stop, hl_group = 'TideateUnresolved', priority = 200 }
          vim.api.nvim_buf_set_extmark(buf, namespace, row - 1, start - 1, mark)
        end
        start, stop = line:find(mention, stop + 1, true)
      end
    end
  end
end

---@param lines string[]
---@param title string
---@param items string[]
local function section(lines, title, items)
  if #items > 0 then
    vim.list_extend(lines, { '', '## ' .. title, '' })
    for _, item in ipairs(items) do
      vim.list_extend(lines, vim.split(item, '\n', { plain = true }))
    end
  end
end

---@param list string[]
---@return string[]
local function dashed(list)
  return vim.tbl_map(function(item)
    return '- ' .. item
  end, list)
end

---@param values table<string, any>
---@return string[]
local function named(values)
  local names = vim.tbl_keys(values)
  table.sort(names)
  return vim.tbl_map(function(name)
    local value = values[name]
    return ('- %s: %s'):format(name, type(value) == 'string' and value or vim.json.encode(value))
  end, names)
end

--- Format a preview as Markdown.
---@param preview tideate.PromptPreview
---@return string
function M.text(preview)
  local of = preview.context_tokens and (' of %d'):format(preview.context_tokens) or ''
  local lines = { ('%s to %s, about %d tokens%s'):format(preview.workflow, preview.adapter, preview.tokens, of) }
  if not preview.exact then
    vim.list_extend(lines, { 'Its steps make their prompts as they run; only this is known before.' })
  end
  section(lines, 'Asks first', dashed(preview.asks))
  section(lines, 'Notices', dashed(preview.notices))
  section(lines, 'Inputs', named(preview.inputs))
  section(lines, 'Steps', named(preview.tasks))
  section(lines, 'Tools', #preview.tools > 0 and { table.concat(preview.tools, ', ') } or {})
  section(lines, 'Instructions', preview.system ~= '' and { preview.system } or {})
  section(lines, preview.exact and 'Prompt' or 'Rules and mentions', preview.user ~= '' and { preview.user } or {})
  return table.concat(lines, '\n')
end

return M
