/** Files of clients as people have them, before they connect. */
import type { ClientName } from '../../src/clients/programs.ts'
import type { Home, HomeFile } from '../support/home.ts'

export interface StartingState {
  title: string
  client: ClientName
  files: Record<string, HomeFile>
  /** In this folder of the home. */
  project?: string
  /** What somebody does between connecting and disconnecting. */
  meanwhile?(home: Home): void
  /** The files that are others after that, as they are to be at the end. */
  after?: Record<string, string>
}

const claudeState =
  '{\n  "numStartups": 12,\n  "mcpServers": {\n    "other": {\n      "command": "x"\n    }\n  },\n  "oauth": {"a": [1, 2]}\n}'
const foreignHooks = `{
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

const clients: ClientName[] = ['claude', 'codex', 'opencode', 'gemini', 'copilot', 'cursor', 'vscode']
const none = clients
  .flatMap(
    (client): StartingState[] => [
      { title: `${client}: no files at all`, client, files: {} },
      { title: `${client}: no files, in a project`, client, project: 'work', files: { 'work/README.md': '# Work' } },
    ],
  )

const vscodeFile = '.config/Code/User/mcp.json'

/** Others leave the files alone, or their changes stay. */
export const startingStates: StartingState[] = [
  ...none,
  {
    title: 'claude: its own state, without a line break at the end',
    client: 'claude',
    files: { '.claude.json': { text: claudeState, mode: 0o600 } },
  },
  {
    title: 'claude: a state that others can read',
    client: 'claude',
    files: { '.claude.json': { text: claudeState, mode: 0o664 } },
  },
  {
    title: 'claude: a state on one line',
    client: 'claude',
    files: { '.claude.json': '{"a":1,"mcpServers":{"o":{"command":"x"}}}' },
  },
  {
    title: 'claude: a state on one line with spaces',
    client: 'claude',
    files: { '.claude.json': '{"a": 1, "mcpServers": {}}' },
  },
  { title: 'claude: an empty state', client: 'claude', files: { '.claude.json': '{}' } },
  { title: 'claude: an empty state with a line break in it', client: 'claude', files: { '.claude.json': '{\n}\n' } },
  { title: 'claude: a state without text', client: 'claude', files: { '.claude.json': '' } },
  { title: 'claude: a state of white space', client: 'claude', files: { '.claude.json': ' \n\n' } },
  { title: 'claude: tabs', client: 'claude', files: { '.claude.json': '{\n\t"a": 1,\n\t"mcpServers": {}\n}\n' } },
  {
    title: 'claude: four spaces',
    client: 'claude',
    files: { '.claude/settings.json': '{\n    "hooks": {\n        "Stop": []\n    }\n}\n' },
  },
  {
    title: 'claude: hooks of others, comments, a trailing comma',
    client: 'claude',
    files: { '.claude/settings.json': foreignHooks },
  },
  {
    title: 'claude: the same with CRLF',
    client: 'claude',
    files: { '.claude/settings.json': crlf(foreignHooks), '.claude.json': crlf(claudeState) },
  },
  {
    title: 'claude: a byte order mark',
    client: 'claude',
    files: { '.claude/settings.json': '\ufeff{\n  "hooks": {}\n}\n' },
  },
  { title: 'claude: only comments', client: 'claude', files: { '.claude/settings.json': '{\n  // nothing yet\n}\n' } },
  {
    title: 'claude: a comment behind the last value',
    client: 'claude',
    files: { '.claude/settings.json': '{\n  "model": "opus" // big\n  /* and\n  more */\n}\n' },
  },
  {
    title: 'claude: commas first',
    client: 'claude',
    files: { '.claude/settings.json': '{ "model": "opus"\n, "hooks":\n  { "Stop": [\n    ]\n  }\n}' },
  },
  {
    title: 'claude: a trailing comma on its own line',
    client: 'claude',
    files: { '.claude/settings.json': '{\n  "model": "opus"\n  , // odd\n}\n' },
  },
  {
    title: 'claude: settings are a link',
    client: 'claude',
    files: { 'dotfiles/settings.json': foreignHooks, '.claude/settings.json': { link: '../dotfiles/settings.json' } },
  },
  {
    title: 'claude: its folder is a link',
    client: 'claude',
    files: { 'dotfiles/claude/settings.json': '{}\n', '.claude': { link: 'dotfiles/claude' } },
  },
  {
    title: 'claude: odd permissions',
    client: 'claude',
    files: { '.claude/settings.json': { text: '{}\n', mode: 0o640 } },
  },
  {
    title: 'claude: text in other scripts',
    client: 'claude',
    files: { '.claude/settings.json': '{"name": "Žofie 🦊 \\u00e9", "hooks": {}}\n' },
  },
  {
    title: 'claude: projects in its state',
    client: 'claude',
    project: 'work',
    files: {
      '.claude.json': '{\n  "projects": {\n    "/other": {\n      "mcpServers": {}\n    }\n  }\n}\n',
      'work/.claude/settings.local.json': '{"permissions": {"allow": []}}\n',
    },
  },
  { title: 'codex: a file with comments and tables', client: 'codex', files: { '.codex/config.toml': toml } },
  { title: 'codex: no line break at the end', client: 'codex', files: { '.codex/config.toml': toml.trimEnd() } },
  { title: 'codex: CRLF', client: 'codex', files: { '.codex/config.toml': crlf(toml) } },
  { title: 'codex: an empty file', client: 'codex', files: { '.codex/config.toml': '' } },
  { title: 'codex: only a comment', client: 'codex', files: { '.codex/config.toml': '# nothing yet' } },
  { title: 'codex: empty lines at the end', client: 'codex', files: { '.codex/config.toml': 'model = "x"\n\n\n\n' } },
  {
    title: 'codex: large numbers, dates, texts of several lines',
    client: 'codex',
    files: {
      '.codex/config.toml': 'n = 9007199254740993\nd = 1979-05-27T07:32:00Z\nf = inf\nt = """\n# >>> agent-grid\n"""\n',
    },
  },
  { title: 'codex: a byte order mark', client: 'codex', files: { '.codex/config.toml': '\ufeffmodel = "x"\n' } },
  {
    title: 'codex: hooks of others',
    client: 'codex',
    files: {
      '.codex/hooks.json': '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}}\n',
      '.codex/config.toml': { text: toml, mode: 0o600 },
    },
  },
  {
    title: 'codex: a link',
    client: 'codex',
    files: { 'dot/c.toml': toml, '.codex/config.toml': { link: '../dot/c.toml' } },
  },
  {
    title: 'opencode: comments in opencode.jsonc',
    client: 'opencode',
    files: {
      '.config/opencode/opencode.jsonc':
        '{\n  "$schema": "https://opencode.ai/config.json",\n  // tools\n  "mcp": {\n    "a": { "type": "local", "command": ["x"] }, // first\n  }\n}\n',
    },
  },
  {
    title: 'opencode: plugins of others',
    client: 'opencode',
    files: { '.config/opencode/opencode.json': '{"plugin":["x"]}', '.config/opencode/plugins/mine.js': 'export {}\n' },
  },
  {
    title: 'opencode: a project with a configuration',
    client: 'opencode',
    project: 'work',
    files: { 'work/opencode.json': '{\n  "mcp": {}\n}\n' },
  },
  {
    title: 'gemini: settings with hooks',
    client: 'gemini',
    files: {
      '.gemini/settings.json':
        '{\n  "hooks": {"AfterTool": [{"hooks": []}]},\n  "security": {"auth": {"selectedType": "oauth-personal"}}\n}\n',
    },
  },
  {
    title: 'copilot: servers and hooks of others',
    client: 'copilot',
    files: {
      '.copilot/mcp-config.json': '{\n  "mcpServers": {\n    "a": {"command": "x", "tools": ["*"]}\n  }\n}\n',
      '.copilot/hooks/mine.json': '{"version":1,"hooks":{}}',
    },
  },
  {
    title: 'cursor: hooks and servers of others',
    client: 'cursor',
    files: {
      '.cursor/hooks.json': '{\n  "version": 1,\n  "hooks": {\n    "stop": [{"command": "x"}]\n  }\n}',
      '.cursor/mcp.json': '{"mcpServers":{"a":{"url":"https://a"}}}',
    },
  },
  {
    title: 'vscode: inputs and servers of others',
    client: 'vscode',
    files: { [vscodeFile]: '{\n\t"inputs": [],\n\t"servers": {\n\t\t"a": {\n\t\t\t"command": "x"\n\t\t}\n\t}\n}' },
  },
  // What others do meanwhile stays.
  {
    title: 'claude: it writes its state again in its own way',
    client: 'claude',
    files: { '.claude.json': { text: '{"numStartups":1,"mcpServers":{}}', mode: 0o600 } },
    meanwhile: (home) => {
      const state = JSON.parse(home.read('.claude.json'))
      home.write('.claude.json', { text: JSON.stringify({ ...state, numStartups: 2 }, null, 2), mode: 0o600 })
    },
    after: { '.claude.json': '600 {\n  "numStartups": 2,\n  "mcpServers": {}\n}' },
  },
  {
    title: 'claude: a value is added before and another server behind',
    client: 'claude',
    files: { '.claude.json': { text: claudeState, mode: 0o600 } },
    meanwhile: (home) => {
      const state = JSON.parse(home.read('.claude.json'))
      const mcpServers = { ...state.mcpServers, last: { command: 'y' } }
      home.write('.claude.json', { text: JSON.stringify({ first: 1, ...state, mcpServers }, null, 2), mode: 0o600 })
    },
    after: {
      '.claude.json': `600 ${
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
    title: 'claude: a hook and a comment are added',
    client: 'claude',
    files: { '.claude/settings.json': '{\n  "hooks": {\n    "Stop": [\n      {"hooks": []}\n    ]\n  }\n}\n' },
    meanwhile: (home) =>
      replace(home, '.claude/settings.json', '{\n  "hooks": {', '{\n  // mine\n  "model": "opus",\n  "hooks": {'),
    after: {
      '.claude/settings.json':
        '644 {\n  // mine\n  "model": "opus",\n  "hooks": {\n    "Stop": [\n      {"hooks": []}\n    ]\n  }\n}\n',
    },
  },
  {
    title: 'claude: others add to a file that was made',
    client: 'claude',
    files: {},
    meanwhile: (home) => replace(home, '.claude/settings.json', '{\n', '{\n  "model": "opus",\n'),
    after: { '.claude/settings.json': '644 {\n  "model": "opus"\n}\n', '.claude': 'folder 755' },
  },
  {
    title: 'codex: it puts a table behind, before the end of the block',
    client: 'codex',
    files: { '.codex/config.toml': toml },
    meanwhile: (home) =>
      replace(home, '.codex/config.toml', /\n(# <<< agent-grid\n)/, '\n[hooks.state]\nx = "1"\n\n$1'),
    after: { '.codex/config.toml': `644 ${toml}[hooks.state]\nx = "1"\n\n` },
  },
  {
    title: 'codex: it writes its servers again, without the line that begins the block',
    client: 'codex',
    files: { '.codex/config.toml': toml },
    meanwhile: (home) => {
      const own = '[mcp_servers.agent-grid]'
      const { url, key } = JSON.parse(
        home.read('.codex/config.toml').replace(
          /^[^]*url = ("[^"]*")[^]*Authorization = ("[^"]*")[^]*$/,
          '{"url": $1, "key": $2}',
        ),
      )
      const tables = `\n${own}\nurl = "${url}"\n\n[mcp_servers.agent-grid.http_headers]\nAuthorization = "${key}"\n`
      const text = `${toml}${tables}\n[mcp_servers.third]\ncommand = "z"\n# <<< agent-grid\n`
      home.write('.codex/config.toml', { text, mode: 0o600 })
    },
    after: { '.codex/config.toml': `644 ${toml}\n[mcp_servers.third]\ncommand = "z"\n` },
  },
  {
    title: 'codex: lines are added before and behind the block',
    client: 'codex',
    files: { '.codex/config.toml': toml },
    meanwhile: (home) =>
      replace(home, '.codex/config.toml', /^[^]*$/, `top = 1\n${home.read('.codex/config.toml')}\n[last]\nx = 1\n`),
    after: { '.codex/config.toml': `644 top = 1\n${toml}\n[last]\nx = 1\n` },
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
  {
    title: 'opencode: a value is put before, in the same line',
    client: 'opencode',
    files: { '.config/opencode/opencode.json': '{}\n' },
    meanwhile: (home) =>
      home.write(
        '.config/opencode/opencode.json',
        home.read('.config/opencode/opencode.json').replace('{', '{ "theme": "x",'),
      ),
    after: { '.config/opencode/opencode.json': '644 { "theme": "x"\n}\n' },
  },
]
