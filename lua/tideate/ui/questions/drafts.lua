--- Unfinished texts of ended questions, kept in buffers and restored with the same question.
local M = {}

local KEPT = 10 -- texts

---@class tideate.Draft
---@field buf integer
---@field question string key of its question
---@field begun any data of the caller

---@type tideate.Draft[] oldest first
local drafts = {}

---@param draft tideate.Draft
---@return boolean
local function alive(draft)
  return vim.api.nvim_buf_is_loaded(draft.buf)
end

--- Delete the oldest texts beyond the limit; visible ones stay.
local function evict_old()
  drafts = vim.tbl_filter(alive, drafts)
  for index = #drafts - KEPT, 1, -1 do
    local buf = table.remove(drafts, index).buf
    if #vim.fn.win_findbuf(buf) == 0 then
      vim.api.nvim_buf_delete(buf, { force = true })
    end
  end
end

--- Keep the buffer of a text edit.
---@param question string
---@param buf integer
---@param begun any returned with it
---@return string name of the buffer
function M.keep(question, buf, begun)
  require('tideate.ui.questions.text_edit').detach(buf)
  table.insert(drafts, { buf = buf, question = question, begun = begun })
  evict_old()
  return vim.api.nvim_buf_get_name(buf)
end

--- Return the buffer kept for a question, and hand it over.
---@param question string
---@return integer? buf
---@return any begun
function M.take(question)
  for index = #drafts, 1, -1 do
    local draft = drafts[index]
    if draft.question == question then
      table.remove(drafts, index)
      if alive(draft) then
        return draft.buf, draft.begun
      end
    end
  end
end

return M
