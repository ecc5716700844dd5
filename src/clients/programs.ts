/** The coding clients, a row for each: where it keeps what, and what that is called there. See docs/clients.md. */
import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import type { Json } from './files/written-file.ts'
import { serverName } from './primer.ts'

/** The clients, as the command line names them. */
export const clientNames = ['claude', 'codex', 'opencode', 'gemini', 'copilot', 'cursor', 'vscode'] as const
export type ClientName = (typeof clientNames)[number]

interface ClientProgram {
  title: string
  commands: readonly string[]
  /** The folder of its configuration for the user. */
  folder(): string
  /** The same in a project. */
  projectFolder: string
  server: ServerEntry
  hooks?: HookEntries
  /** The file of its plugin, which has the work of hooks, below its folder. */
  plugin?: string
  /** Where it reads skills and hook files, if that is not its folder. */
  sharedFolder?: { user(): string; project: string }
  /** What a person does where no key is written, so that the tools work. */
  login?: string
  /** What a person does before its hooks run. */
  approval?: string
  /** How `--wake auto` tells it of messages. */
  wakes: string
  /** The oldest version that messages wake. Without it, they wake none. */
  wakesFrom?: string
}

/** Where the tools of the grid are configured. A place is one for the user or one in a project. */
interface ServerEntry {
  /** `folder` is the client's; `project` is undefined for the user. */
  file(folder: string, project: string | undefined): string
  container(project: string | undefined): string[]
  /** Which keys are written: `user` not into files of projects, which others read; `file` into a file of their own. */
  key: 'always' | 'user' | 'file'
  /** By default JSON. */
  format?: 'toml'
  value(url: string, headers: { headers?: { Authorization: string } }): Json
}

/** The command of a hook, as words and as a line for the shell of this system. */
export interface HookCommand {
  words: readonly string[]
  line: string
  /** In a package, whose variables the client replaces. */
  isPlugin?: true
}

interface HookEntries {
  file(folder: string, project: string | undefined): string
  /** It is a file of its own, which begins with this. */
  ownFile?: { [name: string]: Json }
  /** What a new file begins with. */
  base?: { [name: string]: Json }
  /** Which hooks run at which events with `--wake auto`. `wait` wakes the session when it ends. */
  events: Record<string, readonly string[]>
  /** Its hooks stand in a group below the event: `[{hooks: [...]}]`. */
  isGrouped?: true
  value(command: HookCommand, hook: string): Json
  /** How it reads what its model is to be told. Most clients read `usual`: `hookSpecificOutput.additionalContext`. */
  context?(text: string, usual: { [name: string]: Json }): { [name: string]: Json }
}

/** For most hooks, in seconds. */
const hookSeconds = 5
/** As long as a session may be idle, in seconds. */
const waitSeconds = 86_400

const toldAtBorders =
  'It is told of new messages when a session begins, at each prompt and after tools. Nothing wakes it while it is idle.'
const woken = 'New messages wake an idle session, and are told to a busy one.'
const copilotFolder = { user: () => userFolder('COPILOT_HOME', '.copilot'), project: '.github' }

export const programs: Record<ClientName, ClientProgram> = {
  /**
   * What is for one project is kept in files that are the user's own, so that it is not shared.
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
      events: { SessionStart: ['start', 'wait'], UserPromptSubmit: ['prompt'], Stop: ['wait'], SessionEnd: ['end'] },
      isGrouped: true,
      value: ({ words: [command, ...args], line, isPlugin }, hook) => ({
        type: 'command',
        // `claude -p` waits for each hook of the user, so a shell, which starts in no time, ends it there. The shell
        // becomes the program, which sees when its client ends.
        ...(isPlugin || process.platform === 'win32'
          ? { command, args }
          : { command: `[ "$CLAUDE_CODE_ENTRYPOINT" = cli ] && exec ${line}; exit 0` }),
        ...(hook === 'wait' ? { asyncRewake: true, timeout: waitSeconds } : { timeout: hookSeconds }),
      }),
    },
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
    },
    hooks: {
      file: (folder) => join(folder, 'hooks.json'),
      // The first one starts a program that puts new messages into the queue of the session.
      events: { SessionStart: ['start'], UserPromptSubmit: ['prompt'], Stop: ['stop'] },
      isGrouped: true,
      // Codex asks its user again when the text changes.
      value: ({ line }) => ({ type: 'command', command: line, timeout: hookSeconds }),
    },
    login: `Log in: codex mcp login ${serverName}`,
    approval:
      'Start codex and approve the hooks of agent-grid: it asks, or type /hooks. Until then it does not run them.',
    wakes: woken,
    wakesFrom: '0.149.0',
  },
  /** @see https://opencode.ai/docs/config, https://opencode.ai/docs/plugins */
  opencode: {
    title: 'opencode',
    commands: ['opencode'],
    folder: () => join(userFolder('XDG_CONFIG_HOME', '.config'), 'opencode'),
    projectFolder: '.opencode',
    server: {
      file: (folder, project = folder) =>
        ['opencode.json', 'opencode.jsonc'].map((name) => join(project, name)).find((path) => existsSync(path)) ??
          join(project, 'opencode.json'),
      container: () => ['mcp'],
      key: 'file',
      value: (url, headers) => ({ type: 'remote', url, ...headers, oauth: false }),
    },
    plugin: join('plugins', `${serverName}.js`),
    wakes: woken,
    wakesFrom: '1.18.0',
  },
  /** @see https://geminicli.com/docs/hooks/reference, https://geminicli.com/docs/tools/mcp-server */
  gemini: {
    title: 'Gemini CLI',
    commands: ['gemini'],
    // Gemini CLI puts its folder into the home that the variable names.
    folder: () => join(userFolder('GEMINI_CLI_HOME', ''), '.gemini'),
    projectFolder: '.gemini',
    server: {
      file: (folder) => join(folder, 'settings.json'),
      container: () => ['mcpServers'],
      key: 'user',
      value: (httpUrl, headers) => ({ httpUrl, ...headers }),
    },
    hooks: {
      file: (folder) => join(folder, 'settings.json'),
      events: { SessionStart: ['start'], BeforeAgent: ['prompt'], AfterTool: ['tool'], SessionEnd: ['end'] },
      isGrouped: true,
      value: ({ line }) => ({ name: serverName, type: 'command', command: line, timeout: hookSeconds * 1_000 }),
    },
    login: `Log in: start gemini and type /mcp auth ${serverName}`,
    wakes: toldAtBorders,
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
      value: ({ words }) => ({
        type: 'command',
        bash: shellLine(words, 'sh'),
        powershell: shellLine(words, 'powershell'),
        timeoutSec: hookSeconds,
      }),
      // VS Code runs this file too, and has another name for it.
      context: (additionalContext, usual) => ({ additionalContext, ...usual }),
    },
    login: 'Log in: start copilot, and sign in at the grid when it asks.',
    wakes: toldAtBorders,
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
      // Its hook at a prompt cannot tell the model anything.
      events: { sessionStart: ['start'], postToolUse: ['tool'], sessionEnd: ['end'] },
      value: ({ line }) => ({ command: line }),
      context: (text) => ({ additional_context: text }),
    },
    login: `Log in: open the MCP settings of Cursor and choose Connect at ${serverName}.`,
    wakes: 'It is told of new messages when a session begins and after tools. Nothing wakes it while it is idle.',
  },
  /**
   * It reads the hooks and skills of Copilot CLI too, so its own have a name of their own.
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
    login: `Log in: start the server ${serverName} in VS Code, and sign in when it asks.`,
    wakes: toldAtBorders,
  },
}

export function shellLine(words: readonly string[], shell = process.platform === 'win32' ? 'cmd' : 'sh'): string {
  const quote = (word: string) => {
    if (/^[\w@%+=:,./\\-]+$/.test(word) && !(shell === 'sh' && word.includes('\\'))) return word
    if (shell === 'cmd') return `"${word}"`
    return shell === 'powershell' ? `'${word.replaceAll("'", "''")}'` : `'${word.replaceAll("'", `'\\''`)}'`
  }
  return `${shell === 'powershell' ? '& ' : ''}${words.map(quote).join(' ')}`
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
