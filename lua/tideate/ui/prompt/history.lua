--- Earlier prompts of a project: those of its stored runs and of this Neovim.
local M = {}

local ui = require('tideate.ui')

local MOST = 100 -- stored runs that are read

---@class tideate.ui.PromptHistory
---@field private folder string of the project
---@field private stored string[] the newest first
---@field private at integer shown entry; 0: the user's own text
---@field private texts table<integer, string> edited entries by number
---@field private failure? string why stored prompts are missing
local History = {}
History.__index = History

---@type table<string, string[]> prompts of this Neovim by project, newest first
local typed = {}

--- Return the project root of a folder, else the folder.
---@param folder string
---@return string
function M.project(folder)
  return require('tideate.paths').project(folder) or folder
end

--- Store a sent prompt.
---@param folder string of the project
---@param prompt string
function M.add(folder, prompt)
  typed[folder] = typed[folder] or {}
  table.insert(typed[folder], 1, prompt)
end

--- Open the history; stored prompts arrive with the host's answer.
---@param folder string of the project
---@return tideate.ui.PromptHistory
function M.open(folder)
  local self = setmetatable({ folder = folder, stored = {}, at = 0, texts = {} }, History)
  require('tideate.client').request('history', { folder = folder, limit = MOST }, function(result)
    if result.ok then
      require('tideate.run_choice').know(folder, result.runs)
    end
    for _, run in ipairs(result.ok and result.runs or {}) do
      table.insert(self.stored, type(run.prompt) == 'string' and run.prompt or nil)
    end
    self.failure = not result.ok and result.error or nil
    require('tideate.project_files').learn(folder, self:list())
  end)
  return self
end

--- Return all earlier prompts without duplicates, newest first.
---@return string[]
function History:list()
  local seen, list = {}, {}
  for _, prompts in ipairs({ typed[self.folder] or {}, self.stored }) do
    for _, prompt in ipairs(prompts) do
      local text = vim.trim(prompt)
      if text ~= '' and not seen[text] then
        seen[text] = true
        table.insert(list, text)
      end
    end
  end
  return list
end

--- Show another entry; edits of the current one are kept.
---@param index integer 0: the user's own text
---@param text string shown now
---@return string? text nil: no such entry
function History:go_to(index, text)
  local list = self:list()
  if index < 0 or index > #list then
    return nil
  end
  self.texts[self.at] = text
  self.at = index
  return self.texts[index] or list[index] or ''
end

--- Show the previous or next entry.
---@param step integer 1: earlier, -1: later
---@param text string shown now
---@return string? text nil: none in this direction
function History:move(step, text)
  local found = self:go_to(self.at + step, text)
  if not found and step > 0 and self.failure then
    ui.warn('no earlier prompts: ' .. self.failure)
  end
  return found
end

---@param prompt string
---@return string on one line
local function line(prompt)
  local text = require('tideate.ui.text')
  return text.fit((prompt:gsub('%s*\n%s*', ' ')), vim.o.columns - 8)
end

--- Choose among the prompts that contain a text.
---@param on_choice fun(index: integer)
function History:search(on_choice)
  vim.ui.input({ prompt = 'Earlier prompts with: ' }, function(words)
    if not words then
      return
    end
    local list, found = self:list(), {} ---@type string[], integer[]
    for index, prompt in ipairs(list) do
      if prompt:lower():find(words:lower(), 1, true) then
        table.insert(found, index)
      end
    end
    if #found == 0 then
      return ui.notify(("no earlier prompt has '%s'"):format(words))
    elseif #found == 1 then
      return on_choice(found[1])
    end
    local function item(index)
      return line(list[index])
    end
    local opts = { prompt = 'Earlier prompts', kind = 'tideate.prompt', format_item = item }
    ui.select(found, opts, function(index)
      if index then
        on_choice(index)
      end
    end)
  end)
end

return M
