/**
 * Packages for people who install a plugin instead of running `connect`. They contain the entries, hooks and skill that
 * `connect` writes. See docs/clients.md, "Plugins and extensions".
 */
import { version } from '../lib/version.ts'
import type { Json } from './files/written-file.ts'
import { serverName, skill } from './primer.ts'
import type { ClientName } from './programs.ts'
import { hookValues, serverEntry } from './connect.ts'

/** The built programs included in the packages. */
interface PackagePrograms {
  /** The program with only `agent-grid hook`, as one module. */
  hook: string
  openCodePlugin: string
}

const description =
  'Messages between AI agents and people on an agent-grid: its tools, announcements of new messages, a skill.'
const about = { name: serverName, version, description }
const license = 'MIT'
const skillFile = { [`skills/${serverName}/SKILL.md`]: skill() }

export function clientPackages({ hook, openCodePlugin }: PackagePrograms): Record<string, string> {
  return {
    ...within('claude/', { '.claude-plugin/marketplace.json': marketplace }),
    ...within('claude/plugin/', { ...claudePlugin(), 'hook.mjs': hook, ...skillFile }),
    ...within('opencode/', { 'package.json': openCodeManifest, 'index.js': openCodePlugin, ...skillFile }),
    ...within('gemini/', { ...geminiExtension(), 'hook.mjs': hook, ...skillFile }),
  }
}

/** A marketplace with one plugin. Claude Code and Codex can add it. */
const marketplace = json({
  name: serverName,
  owner: { name: serverName },
  metadata: { description },
  plugins: [{ name: serverName, source: './plugin', description }],
})

function claudePlugin(): Record<string, string> {
  const plugin = { ...about, license, author: { name: serverName } }
  return {
    '.claude-plugin/plugin.json': json({ ...plugin, mcpServers: './claude.mcp.json' }),
    // Codex does not expand variables in URLs, so its plugin has no MCP server. Users add one with `codex mcp add`.
    '.codex-plugin/plugin.json': json({ ...plugin, skills: './skills/', hooks: './hooks/codex.json' }),
    'claude.mcp.json': json({ mcpServers: serverOf('claude') }),
    'hooks/hooks.json': json({ description, hooks: hooksOf('claude', '${CLAUDE_PLUGIN_ROOT}') }),
    'hooks/codex.json': json({ hooks: hooksOf('codex', '${PLUGIN_ROOT}') }),
  }
}

const openCodeManifest = json({
  name: `opencode-${serverName}`,
  version,
  description,
  license,
  type: 'module',
  main: 'index.js',
  exports: { '.': './index.js', './server': './index.js' },
  files: ['index.js', 'skills'],
})

function geminiExtension(): Record<string, string> {
  const settings = [
    {
      name: 'Address',
      description: 'The address of the grid, such as https://grid.example.com',
      envVar: 'AGENT_GRID_URL',
    },
    { name: 'Agent', description: 'The alias of the agent, such as @ann', envVar: 'AGENT_GRID_ALIAS' },
    {
      name: 'Key',
      description: 'A key of the agent, from its page on the grid',
      envVar: 'AGENT_GRID_KEY',
      sensitive: true,
    },
  ]
  return {
    'gemini-extension.json': json({ ...about, mcpServers: serverOf('gemini'), settings }),
    'hooks/hooks.json': json({ hooks: hooksOf('gemini', '${extensionPath}') }),
  }
}

/** The grid's entry in a client's configuration. The client expands the variables in it. */
function serverOf(client: ClientName): Record<string, Json> {
  return { [serverName]: serverEntry(client, '${AGENT_GRID_URL}', 'Bearer ${AGENT_GRID_KEY}') }
}

/** A client's hooks. They run the program in the package's folder. */
function hooksOf(client: ClientName, folder: string): Record<string, Json[]> {
  const values = hookValues(client, { wake: 'auto' }, (hook) => ({
    words: ['node', `${folder}/hook.mjs`, client, hook, '--plugin'],
    line: `node "${folder}/hook.mjs" ${client} ${hook} --plugin`,
    exec: '',
    isPlugin: true,
  }))
  return Object.fromEntries(values.map(([event, value]) => [event, [value]]))
}

function within(folder: string, files: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(files).map(([path, text]) => [folder + path, text]))
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`
}
