/** Contents of clients' files before connecting. Each row covers a fault that an edit could have. */
import { type ClientName, clientNames } from '../../src/clients/programs.ts'
import type { Home, HomeFile } from '../support/home.ts'

export interface StartingState {
  title: string
  client: ClientName
  files: Record<string, HomeFile>
  /** The project's folder, relative to the home folder. */
  project?: string
  /** Makes another program's changes between connecting and disconnecting. */
  meanwhile?(home: Home): void
  /** The files that differ after disconnecting, in their expected state. */
  after?: Record<string, string>
}

const claudeState =
  '{\n  "numStartups": 12,\n  "mcpServers": {\n    "other": {\n      "command": "x"\n    }\n  },\n  "oauth": {"a": [1, 2]}\n}'
const settings = `{
  // what I run
  "model": "opus",
  "hooks": {
    "SessionStart": [
      { "matcher": "startup", "hooks": [{ "type": "command", "command": "echo hi" }] } // greet
    ],
    "PreToolUse": [],
    /* nothing at the end */
    "Stop": [ ]
  },
}
`
const toml = '# mine\nmodel = "gpt-5" # the big one\n\n[mcp_servers.other]\ncommand = "x"\nargs = [ "a",\n  "b" ]\n'
const crlf = (text: string) => text.replaceAll('\n', '\r\n')
const replace = (home: Home, path: string, from: string | RegExp, to: string) =>
  home.write(path, { text: home.read(path).replace(from, to), mode: path.endsWith('.toml') ? 0o600 : 0o644 })

const claudeFile = '.claude.json'
const claudeSettings = '.claude/settings.json'
const codexFile = '.codex/config.toml'
const table = '[mcp_servers.agent-grid'

/** Clients whose configuration is in a single file. */
const layouts: [title: string, client: ClientName, path: string, file: HomeFile][] = [
  ['without a line break at the end, for the user only', 'claude', claudeFile, { text: claudeState, mode: 0o600 }],
  ['others can read it', 'claude', claudeFile, { text: claudeState, mode: 0o664 }],
  ['one line', 'claude', claudeFile, '{"a":1,"mcpServers":{"o":{"command":"x"}}}'],
  ['one line with spaces', 'claude', claudeFile, '{"a": 1, "mcpServers": {}}'],
  ['empty', 'claude', claudeFile, '{\n}\n'],
  ['white space', 'claude', claudeFile, ' \n\n'],
  ['tabs', 'claude', claudeFile, '{\n\t"a": 1,\n\t"mcpServers": {}\n}\n'],
  ['hooks of others, comments, a trailing comma', 'claude', claudeSettings, settings],
  ['the same with CRLF', 'claude', claudeSettings, crlf(settings)],
  ['a byte order mark', 'claude', claudeSettings, '\ufeff{\n  "hooks": {}\n}\n'],
  ['only comments', 'claude', claudeSettings, '{\n  // nothing yet\n}\n'],
  ['a comment at the end', 'claude', claudeSettings, '{\n  "model": "opus" // big\n  /* and\n  more */\n}\n'],
  ['commas first', 'claude', claudeSettings, '{ "model": "opus"\n, "hooks":\n  { "Stop": [\n    ]\n  }\n}'],
  ['a comma on its own line', 'claude', claudeSettings, '{\n  "model": "opus"\n  , // odd\n}\n'],
  ['text in other scripts', 'claude', claudeSettings, '{"name": "Žofie 🦊 \\u00e9", "hooks": {}}\n'],
  ['a file with comments and tables', 'codex', codexFile, toml],
  ['no line break at the end', 'codex', codexFile, toml.trimEnd()],
  ['CRLF', 'codex', codexFile, crlf(toml)],
  ['an empty file', 'codex', codexFile, ''],
  ['a byte order mark', 'codex', codexFile, '\ufeffmodel = "x"\n\n\n\n'],
  [
    'large numbers, dates, texts of several lines',
    'codex',
    codexFile,
    'n = 9007199254740993\nd = 1979-05-27T07:32:00Z\nf = inf\nt = """\n# >>> agent-grid\n"""\n',
  ],
  [
    'comments in opencode.jsonc',
    'opencode',
    '.config/opencode/opencode.jsonc',
    '{\n  "$schema": "x",\n  // tools\n  "mcp": {\n    "a": { "type": "local", "command": ["x"] }, // first\n  }\n}\n',
  ],
  ['hooks of others', 'gemini', '.gemini/settings.json', '{\n  "hooks": {"AfterTool": [{"hooks": []}]}\n}\n'],
  ['hooks of others', 'cursor', '.cursor/hooks.json', '{\n  "version": 1,\n  "hooks": {"stop": [{"command": "x"}]}\n}'],
]

export const startingStates: StartingState[] = [
  ...clientNames.map((client) => ({ title: `${client}: no files at all`, client, files: {} })),
  ...clientNames.map((client) => ({
    title: `${client}: no files, in a project`,
    client,
    project: 'work',
    files: { 'work/README.md': '# Work' },
  })),
  ...layouts.map(([title, client, path, file]) => ({ title: `${client}: ${title}`, client, files: { [path]: file } })),
  {
    title: 'claude: settings are a link',
    client: 'claude',
    files: { 'dotfiles/settings.json': settings, [claudeSettings]: { link: '../dotfiles/settings.json' } },
  },
  {
    title: 'claude: its folder is a link',
    client: 'claude',
    files: { 'dotfiles/claude/settings.json': '{}\n', '.claude': { link: 'dotfiles/claude' } },
  },
  {
    title: 'claude: projects in its state',
    client: 'claude',
    project: 'work',
    files: {
      [claudeFile]: '{\n  "projects": {\n    "/other": {\n      "mcpServers": {}\n    }\n  }\n}\n',
      'work/.claude/settings.local.json': '{"permissions": {"allow": []}}\n',
    },
  },
  // Changes that another program makes between connecting and disconnecting are kept.
  {
    title: 'claude: its state is written again, with a value before and another server behind',
    client: 'claude',
    files: { [claudeFile]: { text: claudeState, mode: 0o600 } },
    meanwhile: (home) => {
      const state = JSON.parse(home.read(claudeFile))
      const mcpServers = { ...state.mcpServers, last: { command: 'y' } }
      home.write(claudeFile, { text: JSON.stringify({ first: 1, ...state, mcpServers }, null, 2), mode: 0o600 })
    },
    after: {
      [claudeFile]: `600 ${
        JSON.stringify(
          {
            first: 1,
            numStartups: 12,
            mcpServers: { other: { command: 'x' }, last: { command: 'y' } },
            oauth: { a: [1, 2] },
          },
          null,
          2,
        )
      }`,
    },
  },
  {
    title: 'claude: a value and a comment are added, and a trailing comma',
    client: 'claude',
    files: { [claudeSettings]: '{\n  "hooks": {\n    "Stop": [\n      {"hooks": []}\n    ]\n  }\n}\n' },
    meanwhile: (home) => {
      replace(home, claudeSettings, '{\n  "hooks": {', '{\n  // mine\n  "model": "opus",\n  "hooks": {')
      replace(home, claudeSettings, /\n {2}\}\n\}\n$/, ',\n  }\n}\n')
    },
    after: {
      [claudeSettings]:
        '644 {\n  // mine\n  "model": "opus",\n  "hooks": {\n    "Stop": [\n      {"hooks": []}\n    ]\n  }\n}\n',
    },
  },
  {
    title: 'claude: others add to a file that was made',
    client: 'claude',
    files: {},
    meanwhile: (home) => replace(home, claudeSettings, '{\n', '{\n  "model": "opus",\n'),
    after: { [claudeSettings]: '644 {\n  "model": "opus"\n}\n', '.claude': 'folder 755' },
  },
  {
    title: 'codex: it writes its servers again, each table by itself',
    client: 'codex',
    files: { [codexFile]: toml },
    meanwhile: (home) => {
      const [, url] = home.read(codexFile).match(/url = ("[^"]*")/)!
      const [, key] = home.read(codexFile).match(/Authorization = ("[^"]*")/)!
      const tools = new Map<string, string>()
      for (const [, tool, line] of home.read(codexFile).matchAll(/^tools\.(\w+)\.(.*\n)/gm)) {
        tools.set(tool, `${tools.get(tool) ?? `\n${table}.tools.${tool}]\n`}${line}`)
      }
      const ofTools = [...tools.values()].join('')
      const tables = `\n${table}]\nurl = ${url}\n\n${table}.http_headers]\nAuthorization = ${key}\n${ofTools}`
      const text = `${toml}${tables}\n[mcp_servers.third]\ncommand = "z"\n`
      home.write(codexFile, { text, mode: 0o600 })
    },
    after: { [codexFile]: `644 ${toml}\n[mcp_servers.third]\ncommand = "z"\n` },
  },
  {
    title: 'codex: its user sets limits and another tool in our table, and takes a permission back',
    client: 'codex',
    files: { [codexFile]: toml },
    meanwhile: (home) => {
      replace(home, codexFile, `${table}]\n`, `${table}]\nstartup_timeout_sec = 2.5 # short\n`)
      replace(home, codexFile, /(send_message\.approval_mode = )"approve"/, '$1"prompt"')
      replace(home, codexFile, /$/, `\n${table}.tools.set_skills]\napproval_mode = "approve"\n`)
    },
  },
  {
    title: 'opencode: its user switches our server off, and says more in a comment',
    client: 'opencode',
    files: { '.config/opencode/opencode.json': '{\n  "permission": {"*": "ask"}\n}\n' },
    meanwhile: (home) =>
      replace(
        home,
        '.config/opencode/opencode.json',
        '"type": "remote"',
        '"enabled": false, // today\n"type": "remote"',
      ),
  },
  {
    title: 'claude: its user allowed a tool before, and one more later',
    client: 'claude',
    files: {
      [claudeSettings]: '{\n  "permissions": {\n    "allow": [\n      "mcp__agent-grid__list_agents"\n    ]\n  }\n}\n',
    },
    meanwhile: (home) => {
      const settings = JSON.parse(home.read(claudeSettings))
      settings.permissions.allow.push('Bash(ls)')
      home.write(claudeSettings, JSON.stringify(settings, null, 2))
    },
    after: {
      [claudeSettings]: `644 ${
        JSON.stringify({ permissions: { allow: ['mcp__agent-grid__list_agents', 'Bash(ls)'] } }, null, 2)
      }`,
    },
  },
  {
    title: 'codex: lines are added before and behind the block',
    client: 'codex',
    files: { [codexFile]: toml },
    meanwhile: (home) =>
      replace(home, codexFile, /^[^]*$/, `top = 1\n${home.read(codexFile)}\n[mcp_servers.agent-grid-2]\nx = 1\n`),
    after: { [codexFile]: `644 top = 1\n${toml}\n[mcp_servers.agent-grid-2]\nx = 1\n` },
  },
  {
    title: 'cursor: another hook is added to a file that was made',
    client: 'cursor',
    files: {},
    meanwhile: (home) => {
      const hooks = JSON.parse(home.read('.cursor/hooks.json'))
      hooks.hooks.stop = [{ command: 'x' }]
      home.write('.cursor/hooks.json', JSON.stringify(hooks, null, 2))
    },
    after: {
      '.cursor/hooks.json': `644 ${JSON.stringify({ version: 1, hooks: { stop: [{ command: 'x' }] } }, null, 2)}`,
      '.cursor': 'folder 755',
    },
  },
]
