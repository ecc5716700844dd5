/** The coding clients: their files, and the names used in them. See docs/client-reference.md. */
import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { type ClientProgram, shellLine } from './client-program.ts'
import { ClientError } from './grid-call.ts'
import { serverName } from './primer.ts'

/** The clients' names on the command line. */
export const clientNames = ['claude', 'codex', 'opencode', 'gemini', 'copilot', 'cursor', 'vscode'] as const
export type ClientName = (typeof clientNames)[number]

/** The names of the tools that may be allowed: messaging tools, but no tools that change the agent itself. */
export const conversationTools: readonly string[] = [
  'read_messages',
  'send_message',
  'message_status',
  'retract_message',
  'list_agents',
  'list_channels',
  'read_part',
  'update_task',
  'reserve',
  'list_reservations',
]

/** Tools that the client's user has not been asked about yet. */
export function newTools(connection: { askedTools?: readonly string[] } | undefined): string[] {
  return conversationTools.filter((tool) => !connection?.askedTools?.includes(tool))
}

/** Tools whose results may be longer than 10 KB. */
const longTools = [
  'read_messages',
  'send_message',
  'search_messages',
  'read_part',
  'list_agents',
  'list_channels',
  'list_skills',
  'list_reservations',
]

/** Time limit of most hooks, in seconds. */
const hookSeconds = 5
/** Maximum idle time of a session, in seconds. */
const waitSeconds = 86_400

const notifiedAtBorders =
  'It is notified of new messages when a session begins, at each prompt and after tools. Nothing wakes it while it is idle.'
/** Time limit of a call. A read waits up to 50 s. A client with a single limit also waits this long at startup. */
const limitSeconds = 60
const hasOneLimit = `If the grid hangs, it waits ${limitSeconds} seconds at its start, because a read may wait for 50.`
const woken = 'New messages wake an idle session and are announced to a busy one.'
const wokenAfterPrompt = `${woken} A session without a first prompt is not woken.`
/** The administrator's settings, which take precedence over all others. One session's settings would replace them. */
const geminiSystemSettings = [
  '/etc/gemini-cli/settings.json',
  '/Library/Application Support/GeminiCli/settings.json',
  'C:\\ProgramData\\gemini-cli\\settings.json',
]
const copilotFolder = { user: () => userFolder('COPILOT_HOME', '.copilot'), project: '.github' }

export const programs: Record<ClientName, ClientProgram> = {
  /**
   * Project entries are stored in the user's own files, so that they are not shared.
   * @see https://code.claude.com/docs/en/hooks, https://code.claude.com/docs/en/mcp
   */
  claude: {
    title: 'Claude Code',
    commands: ['claude'],
    folder: () => userFolder('CLAUDE_CONFIG_DIR', '.claude'),
    projectFolder: '.claude',
    server: {
      file: () => join(process.env.CLAUDE_CONFIG_DIR || homedir(), '.claude.json'),
      container: (project) => project === undefined ? ['mcpServers'] : ['projects', project, 'mcpServers'],
      key: 'always',
      value: (url, headers) => ({ type: 'http', url, ...headers }),
    },
    hooks: {
      file: (folder, project) => join(folder, project === undefined ? 'settings.json' : 'settings.local.json'),
      events: {
        ...{ SessionStart: ['start', 'wait'], UserPromptSubmit: ['prompt'], PreToolUse: ['edit'] },
        ...{ Stop: ['wait'], SessionEnd: ['end'] },
      },
      isGrouped: true,
      matchers: { PreToolUse: 'Edit|Write|MultiEdit|NotebookEdit' },
      value: ({ words: [command, ...args], exec, isPlugin }, hook) => ({
        type: 'command',
        // `claude -p` waits for every user hook, so the shell, which starts quickly, ends the hook there. In other
        // sessions the program replaces the shell, and detects when the client ends.
        ...(isPlugin || process.platform === 'win32'
          ? { command, args }
          : { command: `[ "$CLAUDE_CODE_ENTRYPOINT" = cli ] && ${exec}; exit 0` }),
        ...(hook === 'wait' ? { asyncRewake: true, timeout: waitSeconds } : { timeout: hookSeconds }),
      }),
    },
    session(url) {
      const entry = programs.claude.server.value(url, { headers: { Authorization: 'Bearer ${AGENT_GRID_KEY}' } })
      // Without `=`, the arguments that follow would be parsed as more configuration files.
      return { words: [`--mcp-config=${JSON.stringify({ mcpServers: { [serverName]: entry } })}`] }
    },
    tool: (name, isPlugin) => `mcp__${isPlugin ? `plugin_${serverName}_` : ''}${serverName}__${name}`,
    permissions: {
      file: (folder, project) => join(folder, project === undefined ? 'settings.json' : 'settings.local.json'),
      isOwnInProject: true,
      entry: (tool) => ({ container: ['permissions', 'allow'], value: `mcp__${serverName}__${tool}` }),
    },
    allowing: 'choose "don\'t ask again" when it asks, in each folder.',
    asks: 'to log in, and whether you trust a folder',
    wakes: woken,
    wakesFrom: '2.1.197',
  },
  /** @see https://developers.openai.com/codex/config-reference, https://developers.openai.com/codex/hooks */
  codex: {
    title: 'Codex',
    commands: ['codex'],
    folder: () => userFolder('CODEX_HOME', '.codex'),
    projectFolder: '.codex',
    server: {
      file: (folder) => join(folder, 'config.toml'),
      container: () => ['mcp_servers'],
      key: 'user',
      format: 'toml',
      value: (url, { headers }) => ({ url, ...(headers && { http_headers: headers }) }),
      // For an unknown model, Codex limits a result to 12 KB and cuts its middle.
      options: longTools.map((tool) => ({
        container: ['mcp_servers', serverName, 'tools', tool],
        name: 'output_token_limit',
        value: 10_000,
      })),
    },
    hooks: {
      file: (folder) => join(folder, 'hooks.json'),
      // The first hook starts a process that queues new messages for the session.
      events: { SessionStart: ['start'], UserPromptSubmit: ['prompt'], Stop: ['stop'] },
      isGrouped: true,
      // The text must not change, because Codex then asks its user again.
      value: ({ line }) => ({ type: 'command', command: line, timeout: hookSeconds }),
    },
    session(url) {
      const entry = { url: JSON.stringify(url), http_headers: '{}', bearer_token_env_var: '"AGENT_GRID_KEY"' }
      const overrides = Object.entries(entry).map(([name, value]) => `mcp_servers.${serverName}.${name}=${value}`)
      return { words: overrides.flatMap((override) => ['-c', override]) }
    },
    permissions: {
      file: (folder) => join(folder, 'config.toml'),
      entry: (tool) => ({
        container: ['mcp_servers', serverName, 'tools', tool],
        name: 'approval_mode',
        value: 'approve',
      }),
    },
    allowing: 'choose "Always allow" when it asks.',
    asks: 'to log in, whether you trust a folder, and to review the hooks',
    login: `Log in: codex mcp login ${serverName}`,
    approval:
      'Start codex and approve the hooks of agent-grid: it asks, or type /hooks. Until then it does not run them.',
    wakes: wokenAfterPrompt,
    wakesFrom: '0.149.0',
  },
  /** @see https://opencode.ai/docs/config, https://opencode.ai/docs/plugins */
  opencode: {
    title: 'opencode',
    commands: ['opencode'],
    folder: () => join(userFolder('XDG_CONFIG_HOME', '.config'), 'opencode'),
    projectFolder: '.opencode',
    server: {
      file: openCodeFile,
      container: () => ['mcp'],
      key: 'file',
      limit: hasOneLimit,
      value: (url, { headers }) => ({
        ...{ type: 'remote', url, ...(headers && { headers, oauth: false }) },
        timeout: limitSeconds * 1_000,
      }),
    },
    plugin: join('plugins', `${serverName}.js`),
    session(url, { OPENCODE_CONFIG_CONTENT: given = '{}' }) {
      const entry = programs.opencode.server.value(url, { headers: { Authorization: 'Bearer {env:AGENT_GRID_KEY}' } })
      const own = configIn(given)
      const mcp = { ...own.mcp, [serverName]: entry }
      return { env: { OPENCODE_CONFIG_CONTENT: JSON.stringify({ ...own, mcp }) } }
    },
    tool: (name) => `${serverName}_${name}`,
    permissions: {
      file: openCodeFile,
      entry: (tool) => ({ container: ['permission'], name: `${serverName}_${tool}`, value: 'allow' }),
    },
    allowing: 'choose "Allow always" when it asks, which it does only if its configuration requires it.',
    asks: 'for a model and its log-in',
    login: `Log in: opencode mcp auth ${serverName}`,
    wakes: wokenAfterPrompt,
    wakesFrom: '1.18.0',
  },
  /** @see https://geminicli.com/docs/hooks/reference, https://geminicli.com/docs/tools/mcp-server */
  gemini: {
    title: 'Gemini CLI',
    commands: ['gemini'],
    // The variable names a home folder, inside which Gemini CLI creates its own folder.
    folder: () => join(userFolder('GEMINI_CLI_HOME', ''), '.gemini'),
    projectFolder: '.gemini',
    server: {
      file: (folder) => join(folder, 'settings.json'),
      container: () => ['mcpServers'],
      key: 'user',
      limit: hasOneLimit,
      value: (httpUrl, headers) => ({ httpUrl, ...headers, timeout: limitSeconds * 1_000 }),
    },
    hooks: {
      file: (folder) => join(folder, 'settings.json'),
      events: { SessionStart: ['start'], BeforeAgent: ['prompt'], AfterTool: ['tool'], SessionEnd: ['end'] },
      isGrouped: true,
      value: ({ line }) => ({ name: serverName, type: 'command', command: line, timeout: hookSeconds * 1_000 }),
    },
    session(url) {
      const variable = 'GEMINI_CLI_SYSTEM_SETTINGS_PATH'
      const given = [process.env[variable], ...geminiSystemSettings].find((path) => path && existsSync(path))
      if (given) {
        throw new ClientError('settings_exist', `Gemini CLI takes no agent for one session while it has ${given}.`)
      }
      const entry = programs.gemini.server.value(url, { headers: { Authorization: 'Bearer ${AGENT_GRID_KEY}' } })
      return { settings: { variable, value: { mcpServers: { [serverName]: entry } } } }
    },
    tool: (name) => `mcp_${serverName}_${name}`,
    permissions: {
      file: (folder) => join(folder, 'policies', `${serverName}.toml`),
      text: (tools) =>
        [
          '[[rule]]',
          `mcpName = "${serverName}"`,
          `toolName = [${tools.map((tool) => `"${tool}"`).join(', ')}]`,
          'decision = "allow"',
          'priority = 100',
          '',
        ].join('\n'),
    },
    allowing: 'choose "Always allow tool" when it asks, in each session.',
    asks: 'to log in, and whether you trust a folder',
    login: `Log in: start gemini and type /mcp auth ${serverName}`,
    wakes: notifiedAtBorders,
  },
  /** @see https://docs.github.com/en/copilot/reference/copilot-cli-reference/cli-hooks-reference */
  copilot: {
    title: 'Copilot CLI',
    commands: ['copilot'],
    folder: copilotFolder.user,
    projectFolder: copilotFolder.project,
    server: {
      file: (folder, project) => join(folder, project === undefined ? 'mcp-config.json' : 'mcp.json'),
      container: () => ['mcpServers'],
      key: 'user',
      value: (url, headers) => ({ type: 'http', url, ...headers, tools: ['*'] }),
    },
    hooks: {
      file: (folder) => join(folder, 'hooks', `${serverName}.json`),
      ownFile: { version: 1 },
      events: { sessionStart: ['start'], userPromptSubmitted: ['prompt'], postToolUse: ['tool'], sessionEnd: ['end'] },
      value: ({ words, line }) => ({
        type: 'command',
        bash: process.platform === 'win32' ? shellLine(words, 'sh') : line,
        powershell: shellLine(words, 'powershell'),
        timeoutSec: hookSeconds,
      }),
      // VS Code runs this file too, but expects the context under `usual`.
      context: (additionalContext, usual) => ({ additionalContext, ...usual }),
    },
    tool: (name) => `${serverName}-${name}`,
    allowing: 'choose to allow the tool for the folder when it asks, or start it with ' +
      `--allow-tool '${serverName}(read_messages)' for each tool.`,
    asks: 'to log in, and whether you trust a folder',
    login: 'Log in: start copilot, and sign in at the grid when it asks.',
    wakes: notifiedAtBorders,
  },
  /** @see https://cursor.com/docs/context/mcp, https://cursor.com/docs/agent/hooks */
  cursor: {
    title: 'Cursor',
    commands: ['cursor', 'cursor-agent'],
    folder: () => userFolder(undefined, '.cursor'),
    projectFolder: '.cursor',
    server: {
      file: (folder) => join(folder, 'mcp.json'),
      container: () => ['mcpServers'],
      key: 'user',
      value: (url, headers) => ({ url, ...headers }),
    },
    hooks: {
      file: (folder) => join(folder, 'hooks.json'),
      base: { version: 1 },
      // Cursor's hook at a prompt cannot pass text to the model.
      events: { sessionStart: ['start'], postToolUse: ['tool'], sessionEnd: ['end'] },
      value: ({ line }) => ({ command: line }),
      context: (text) => ({ additional_context: text }),
    },
    // A list in ~/.cursor/permissions.json would replace the list in Cursor's settings.
    allowing: 'add the tools to the MCP allowlist in its settings.',
    asks: 'to log in, and whether you trust a folder',
    login: `Log in: open the MCP settings of Cursor and choose Connect at ${serverName}.`,
    wakes: 'It is notified of new messages when a session begins and after tools. Nothing wakes it while it is idle.',
  },
  /**
   * VS Code also reads Copilot CLI's hooks and skills, so its own have different names.
   * @see https://code.visualstudio.com/docs/copilot/reference/mcp-configuration
   */
  vscode: {
    title: 'VS Code',
    commands: ['code', 'code-insiders'],
    folder: vscodeFolder,
    projectFolder: '.vscode',
    server: {
      file: (folder) => join(folder, 'mcp.json'),
      container: () => ['servers'],
      key: 'user',
      value: (url, headers) => ({ type: 'http', url, ...headers }),
    },
    hooks: {
      file: (folder) => join(folder, 'hooks', `${serverName}-vscode.json`),
      ownFile: {},
      events: { SessionStart: ['start'], UserPromptSubmit: ['prompt'], PostToolUse: ['tool'] },
      value: ({ line }) => ({ type: 'command', command: line, timeout: hookSeconds }),
      context: (additionalContext, usual) => ({ additionalContext, ...usual }),
    },
    sharedFolder: copilotFolder,
    allowing: 'choose "Always Allow" when it asks.',
    asks: 'to log in, and whether you trust a folder and the server',
    login: `Log in: start the server ${serverName} in VS Code, and sign in when it asks.`,
    wakes: notifiedAtBorders,
  },
}

function openCodeFile(folder: string, project = folder): string {
  return ['opencode.json', 'opencode.jsonc'].map((name) => join(project, name)).find((path) => existsSync(path)) ??
    join(project, 'opencode.json')
}

function userFolder(variable: string | undefined, name: string): string {
  return (variable && process.env[variable]) || join(homedir(), name)
}

function vscodeFolder(): string {
  const { APPDATA } = process.env
  if (process.platform === 'win32' && APPDATA) return join(APPDATA, 'Code', 'User')
  if (process.platform === 'darwin') return join(homedir(), 'Library', 'Application Support', 'Code', 'User')
  return join(userFolder('XDG_CONFIG_HOME', '.config'), 'Code', 'User')
}

function configIn(text: string): { mcp?: object } {
  try {
    return JSON.parse(text)
  } catch {
    throw new ClientError('config_not_json', 'OPENCODE_CONFIG_CONTENT is not JSON, so nothing can be added to it.')
  }
}
