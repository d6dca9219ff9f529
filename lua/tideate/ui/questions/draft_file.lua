--- The draft file of a question: the user's work so far, which survives Neovim and its host.
---
--- A line is a step, as JSON. Each Neovim begins with the line `{"v":1,"by":<pid>}`: the last such line names the
--- owner. The engine creates the file for one question and removes it when the run ends.

---@class tideate.DraftFile
---@field path string? nil: no draft is kept
---@field noun string kind of the question
---@field size? integer bytes after our last step
---@field unwritten? boolean steps can no longer be written
local private_file = require('tideate.private_file')

local File = {}
File.__index = File

local VERSION = 1

local M = {}

---@param question tideate.Question
---@return tideate.DraftFile
function M.new(question)
  return setmetatable({ path = question.draft ~= '' and question.draft or nil, noun = question.kind }, File)
end

---@param text string
---@return table? value nil for anything else, like a cut line
local function decode(text)
  local ok, value = pcall(vim.json.decode, text, { luanil = { object = true, array = true } })
  return ok and type(value) == 'table' and value or nil
end

--- Return the reason that the file can no longer be written. It is read only if its size changed.
---@return string?
function File:lost()
  local stat = vim.uv.fs_stat(self.path)
  if not stat then
    return 'the file is gone'
  elseif stat.size == self.size then
    return nil
  end
  local file, err = private_file.open(self.path)
  if not file then
    return err
  end
  local last ---@type any
  for line in file:lines() do
    local step = decode(line)
    last = step and step.by and step or last
  end
  file:close()
  if last and last.by == vim.uv.os_getpid() then
    return nil
  end
  return ('%s has opened this %s'):format(last and last['in'] == 'shell' and 'the shell' or 'another Neovim', self.noun)
end

--- Append a step. A failure is reported once; the question continues without the draft.
---@param step table
---@return boolean kept
function File:write(step)
  if not self.path or self.unwritten then
    return false
  end
  local err = self.size and self:lost() or nil ---@type string?
  if not err then
    local size ---@type integer?
    size, err = private_file.append(self.path, vim.json.encode(step) .. '\n')
    if size then
      self.size = size
      return true
    end
  end
  self.unwritten = true
  local words = 'decisions from now on are not kept for the next Neovim: %s'
  require('tideate.ui').warn(words:format(err or 'it cannot be written down'))
  return false
end

--- Read the stored steps. From now on only this Neovim writes.
---@param on_step fun(step: table?): boolean nil for an invalid line; returns whether it is valid
---@return integer damaged number of invalid lines
function File:read(on_step)
  if not self.path then
    return 0
  end
  local file = private_file.open(self.path)
  local damaged, cut = 0, false
  for line in (file and file:lines('*L') or function() end) do
    cut = line:sub(-1) ~= '\n'
    if not on_step(decode(line)) then
      damaged = damaged + 1
    end
  end
  if file then
    file:close()
  end
  if cut then
    self:write({}) -- ends the line
  end
  self:write({ v = VERSION, by = vim.uv.os_getpid() })
  return damaged
end

return M
