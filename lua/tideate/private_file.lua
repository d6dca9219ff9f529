--- Private files (logs and drafts) with mode 0600, independent of the umask. Only regular files are opened.
local M = {}

local DIRECTORY = 448 -- 0700
local FILE = 384 -- 0600

--- Create a directory and its parents.
---@param path string
function M.make_directory(path)
  vim.fn.mkdir(path, 'p', DIRECTORY)
end

--- Return the reason that a path cannot be a file; a missing one can.
---@param path string
---@return string?
local function refusal(path)
  local found = vim.uv.fs_lstat(path)
  if found and found.type ~= 'file' then
    return ('%s is not a regular file (%s); move it away'):format(path, found.type)
  end
end

--- Append to a file, created if missing.
---@param path string
---@param text string
---@return integer? size of the file afterwards, in bytes
---@return string? err
function M.append(path, text)
  local err, fd = refusal(path), nil ---@type string?, integer?
  if not err then
    fd, err = vim.uv.fs_open(path, 'a', FILE)
  end
  if not fd then
    return nil, err
  end
  local found = vim.uv.fs_fstat(fd)
  if found and found.mode % 512 ~= FILE then
    vim.uv.fs_fchmod(fd, FILE)
  end
  local written, failure = vim.uv.fs_write(fd, text)
  found = vim.uv.fs_fstat(fd)
  vim.uv.fs_close(fd)
  if written == #text and found then
    return found.size
  end
  return nil, failure or 'the disk is full'
end

--- Write a file atomically: after a crash, it has the old or the new text.
---@param path string
---@param text string
---@return string? err
function M.write(path, text)
  local err = refusal(path)
  local new = ('%s.%d'):format(path, vim.uv.os_getpid())
  local fd ---@type integer?
  if not err then
    M.make_directory(vim.fs.dirname(path))
    fd, err = vim.uv.fs_open(new, 'w', FILE)
  end
  if not fd then
    return err
  end
  local written, failure = vim.uv.fs_write(fd, text)
  vim.uv.fs_close(fd)
  if written == #text then
    local ok, refused = vim.uv.fs_rename(new, path)
    return not ok and refused or nil
  end
  vim.uv.fs_unlink(new)
  return failure or 'the disk is full'
end

--- Open a file for reading.
---@param path string
---@return file*? file
---@return string? err
function M.open(path)
  local err = refusal(path)
  if err then
    return nil, err
  end
  return io.open(path, 'r')
end

return M
