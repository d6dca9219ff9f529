--- Reasons and comments of a person in a review. They go to the model that made the edit, in one round.

---@class tideate.ReviewComment
---@field text string
---@field because boolean? the reason of a rejection

---@class tideate.CommentEdit: tideate.TextEdit
---@field on_text fun(text: string)

---@class tideate.ReviewComments: tideate.ReviewDecisions
---@field texts table<tideate.ReviewUnit|tideate.ReviewModel, tideate.CommentEdit> opened, until the text is taken
local Comments = setmetatable({}, { __index = require('tideate.ui.review.decisions') })

local BLANKS = ' \t\n\v\f\r\xc2\xa0\xe1\x9a\x80\xe3\x80\x80' -- and those of other keyboards: a comment of them says nothing

--- The comment that a text is; none where there is no text.
---@param text string
---@param because boolean?
---@return tideate.ReviewComment?
local function comment(text, because)
  text = vim.fn.trim(vim.trim(text), BLANKS)
  return text ~= '' and { text = text, because = because } or nil
end

--- What a text is about, for the next review of the same change.
---@param about tideate.ReviewUnit|tideate.ReviewModel
---@return string
function Comments:identity(about)
  local file, hunk = 0, 0
  if about ~= self.model then
    file, hunk = about.entry.index, about.number
  end
  local question = self.question
  return ('comment %s %s %d %d %d'):format(question.execution_id, question.step, self.model.revision, file, hunk)
end

--- The text that was begun about a hunk, or all of it; here, or in a review of the same that ended meanwhile.
---@param about tideate.ReviewUnit|tideate.ReviewModel
---@return tideate.CommentEdit
function Comments:text_about(about)
  local text_edit = require('tideate.ui.text_edit')
  local edit = self.texts[about]
  if edit and vim.api.nvim_buf_is_loaded(edit.buf) then
    return edit
  end
  local function take()
    self.texts[about] = nil
    local text = table.concat(edit:lines(), '\n')
    edit:taken()
    edit:close()
    edit.on_text(text)
  end
  local kept = require('tideate.ui.question_drafts').take(self:identity(about))
  if kept then
    text_edit.attach(kept, take)
    vim.bo[kept].modified = true
  end
  edit = text_edit.new(kept or text_edit.buffer('comment', self.question.execution_id, take)) --[[@as tideate.CommentEdit]]
  edit.win = kept and vim.fn.win_findbuf(kept)[1]
  self.texts[about] = edit
  return edit
end

--- Ask for a line.
---@param prompt string
---@param about tideate.ReviewUnit
---@param on_text fun(text: string)
function Comments:ask_line(prompt, about, on_text)
  local first = about.comment and about.comment.text or ''
  if first:find('\n') then
    return self:ask_lines(prompt, about, on_text)
  end
  vim.ui.input({ prompt = prompt .. ': ', default = first }, function(text)
    if text and not self.closed then
      on_text(text)
    elseif text and comment(text) then
      self:text_about(about):fill(vim.split(text, '\n', { plain = true }))
      vim.bo[self.texts[about].buf].modified = true
      self:keep_texts()
    end
  end)
end

--- Ask for a text of several lines, in a buffer. `:q` leaves it as it is: asked again, it is there.
---@param title string
---@param about tideate.ReviewUnit|tideate.ReviewModel
---@param on_text fun(text: string)
function Comments:ask_lines(title, about, on_text)
  local edit = self:text_about(about)
  edit.on_text = on_text
  if edit:visible() then
    return vim.api.nvim_set_current_win(edit.win)
  end
  edit:fill(vim.split(about.comment and about.comment.text or '', '\n', { plain = true }))
  edit:open(title, 8)
end

--- The review has ended: texts that the person typed and no comment holds are kept in their buffers.
function Comments:keep_texts()
  for about, edit in pairs(self.texts) do
    if edit:unfinished() then
      if edit:visible() then
        vim.api.nvim_win_set_config(edit.win, {
          title = { { ' nobody waits for this text any more ', 'TideateWarning' } },
          footer = { { ' it is kept in this buffer ', 'TideateHint' } },
        })
      end
      local name = require('tideate.ui.question_drafts').keep(self:identity(about), edit.buf)
      require('tideate.ui').notify(('the comment you began is kept in the buffer %s'):format(name), vim.log.levels.WARN)
    else
      edit:close()
    end
  end
  self.texts = {}
end

--- Reject the hunk under the cursor with a reason.
---@param in_buffer boolean the reason may have several lines
function Comments:reject_because(in_buffer)
  local unit = self:unit_at_cursor()
  if not unit then
    return self:step(1)
  end
  local ask = in_buffer and self.ask_lines or self.ask_line
  ask(self, 'Reject, because', unit, function(text)
    self:change({ { unit = unit, state = 'rejected', comment = comment(text, true) } })
    self:advance()
  end)
end

--- Comment on the hunk under the cursor, whatever is decided of it.
function Comments:comment_on_hunk()
  local unit = self:unit_at_cursor()
  if not unit then
    return self:step(1)
  end
  self:ask_line('Comment', unit, function(text)
    self:change({ { unit = unit, state = unit.state, comment = comment(text) } })
    self:draw()
  end)
end

--- Comment on all of the change.
function Comments:comment_on_all()
  self:ask_lines('What is to change?', self.model, function(text)
    self:change({ { unit = self.model, comment = comment(text) } })
    self:draw_bars()
  end)
end

--- Lines that show a comment below its hunk.
---@param one tideate.ReviewComment?
---@param width integer
---@return tideate.Chunk[][]
function Comments.lines(one, width)
  local text, lines = require('tideate.ui.text'), {} ---@type tideate.Chunk[][]
  for _, line in ipairs(one and vim.split(one.text, '\n', { plain = true }) or {}) do
    for _, part in ipairs(text.wrap(text.plain(line), math.max(20, width - 4))) do
      table.insert(lines, { { (#lines == 0 and ' » ' or '   ') .. part, 'TideateComment' } })
    end
  end
  return lines
end

return Comments
