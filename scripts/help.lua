-- Run by help.py in a headless Neovim: the parts of the help text that a Lua table knows.
vim.opt.runtimepath:prepend(vim.fn.getcwd())
local WIDTH = 78

---@param text string
---@param indent integer
---@return string[]
local function wrap(text, indent)
  local lines, line = {}, ''
  for word in text:gmatch('%S+') do
    if line ~= '' and #line + 1 + #word + indent > WIDTH then
      lines[#lines + 1] = line
      line = word
    else
      line = line == '' and word or line .. ' ' .. word
    end
  end
  lines[#lines + 1] = line
  return vim.tbl_map(function(wrapped)
    return (' '):rep(indent) .. wrapped
  end, lines)
end

--- A heading with its tag at the right edge.
---@param left string
---@param tag string
---@return string
local function tagged(left, tag)
  tag = '*' .. tag .. '*'
  return left .. (' '):rep(math.max(1, WIDTH - #left - #tag)) .. tag
end

---@param out string[]
---@param left string
---@param tag string
---@param text string
local function entry(out, left, tag, text)
  out[#out + 1] = tagged(left, tag)
  vim.list_extend(out, wrap(text, 4))
  out[#out + 1] = ''
end

---@type table<string, string> highlight group → subject
local HIGHLIGHTS = {
  TideateNormal = 'text of floats',
  TideateBorder = 'borders',
  TideateTitle = 'titles',
  TideateKey = 'keys in footers and helps',
  TideateHint = 'hints and details',
  TideateAdd = 'added lines',
  TideateDelete = 'deleted lines',
  TideateAddText = 'added words',
  TideateDeleteText = 'deleted words',
  TideateAddSign = 'sign of an addition',
  TideateDeleteSign = 'sign of a deletion',
  TideateChangeSign = 'sign of a change',
  TideateMoveSign = 'sign of a move',
  TideatePath = 'names of files',
  TideateComment = 'comments in a review',
  TideateOut = 'rejected or inactive parts',
  TideateDone = 'success',
  TideateRunning = 'running parts',
  TideateFailed = 'failures',
  TideateWarning = 'warnings',
  TideateUnresolved = 'mentions that cannot be resolved',
  TideateDanger = 'dangers, as executed files',
  TideateWaiting = 'waiting parts',
  TideateCurrent = 'current state in a graph',
}

local parts = {}

function parts.config()
  local out = {}
  for _, option in ipairs(require('tideate.config').schema) do
    local notes = { option.type }
    if option.default ~= nil then
      notes[#notes + 1] = 'default ' .. vim.inspect(option.default)
    end
    if option.values then
      notes[#notes + 1] = 'one of ' .. table.concat(option.values, ', ')
    end
    if option.lua then
      notes[#notes + 1] = 'only in setup()'
    end
    local help = option.help:gsub(' ?`:Workflow install` ?', ' |:Workflow-install| '):gsub(' %.', '.')
    entry(out, option.key, 'tideate-config-' .. option.key:gsub('%*', 'NAME'), ('%s (%s)'):format(help, table.concat(notes, '; ')))
  end
  return out
end

function parts.subcommands()
  local out = {}
  for _, command in ipairs(require('tideate.command').subcommands) do
    local left = vim.trim((':Workflow %s %s'):format(command.name, command.args))
    entry(out, left, ':Workflow-' .. command.name, command.help .. '.')
  end
  return out
end

function parts.workflows()
  local out = {}
  for _, workflow in ipairs(require('tideate.registry').builtin) do
    local is_command = require('tideate.command').reserved(workflow.name)
    local argument = is_command and '' or workflow.needs_prompt and ' {prompt}' or ' [prompt]'
    local left = (':Workflow %s%s'):format(workflow.name, argument)
    local steps = workflow.kind == 'machine' and 'A machine; |tideate-machines|'
      or 'Steps: ' .. table.concat(workflow.steps, ', ')
    local text = ('%s. %s.'):format(workflow.description, steps)
    entry(out, left, 'tideate-' .. workflow.name, text)
  end
  return out
end

function parts.mappings()
  vim.cmd.runtime('plugin/tideate.lua')
  local names = {}
  for _, mapping in ipairs(vim.api.nvim_get_keymap('n')) do
    if vim.startswith(mapping.lhs, '<Plug>(tideate-') then
      local command = (mapping.rhs or ''):gsub('<CR>$', ''):gsub('%s+$', '')
      local does = vim.startswith(command, ':') and command or mapping.desc:gsub('^tideate: ', '')
      names[#names + 1] = ('    %-34s %s'):format(mapping.lhs, does)
    end
  end
  table.sort(names)
  return names
end

---@param keys tideate.Key[]
---@return string[]
local function key_lines(keys)
  return vim.tbl_map(function(line)
    return ('    %-16s %s'):format(line[1], line[2])
  end, require('tideate.ui.keys').described(keys))
end

function parts.highlights()
  local out = {}
  for group, target in vim.spairs(require('tideate.ui.highlights').links) do
    out[#out + 1] = ('    %-23s %-16s %s'):format('*hl-' .. group .. '*', target, assert(HIGHLIGHTS[group]))
  end
  return out
end

function parts.prompt_keys()
  return key_lines(require('tideate.ui.prompt.keys').keys())
end

function parts.output_keys()
  return key_lines(require('tideate.ui.output').keys())
end

function parts.chat_keys()
  return key_lines(require('tideate.ui.chat.keys').history())
end

function parts.message_keys()
  return key_lines(require('tideate.ui.chat.keys').message())
end

function parts.runs_keys()
  return key_lines(require('tideate.ui.pages.run_page').keys())
end

function parts.panel_keys()
  return key_lines(require('tideate.ui.panel').keys())
end

function parts.inbox_keys()
  return key_lines(require('tideate.ui.pages.inbox').keys())
end

function parts.comparison_keys()
  return key_lines(require('tideate.ui.pages.comparison').keys())
end

function parts.graph_keys()
  return key_lines(require('tideate.ui.graph').keys())
end

function parts.review_keys()
  local words = require('tideate.ui.review.model').WORDS[false]
  local model = { revisable = true, collects = true, compared = true, entries = { {}, {} } }
  function model:hears()
    return true
  end
  function model.words()
    return words
  end
  local review = { model = model, in_place = true }
  return key_lines(require('tideate.ui.review.keys').keys(review, false))
end

function parts.comment_keys()
  local question = { execution_id = '', step = '', payload = { revisable = true } }
  local subject = { kind = 'document', unit = 'line', noun = 'line', answers = { yes = '', no = '' } }
  function subject.keys()
    return {}
  end
  local keys = require('tideate.ui.questions.proposal').new(subject, question):keys()
  return key_lines(vim.list_slice(keys, 4, 7)) -- between those of the answers and the help
end

local made = {}
for name, part in pairs(parts) do
  made[name] = part()
end
io.stdout:write(vim.json.encode(made))
