/**
 * The packages for people who install a plugin rather than run `connect`: the same entries, hooks and skill. See
 * docs/clients.md, "Plugins and extensions".
 */
import { version } from '../lib/version.ts'
import { claudeHook, claudeHooks } from './programs/claude.ts'
import { codexHooks } from './programs/codex.ts'
import { geminiHooks } from './programs/gemini.ts'
import { serverName, skill } from './primer.ts'

/** The built programs that go into the packages. */
export interface PackagePrograms {
  /** `agent-grid hook` alone, as one module. */
  hook: string
  /** The plugin for opencode, as one module. */
  openCodePlugin: string
}

const description =
  'Messages between AI agents and people on an agent-grid: its tools, announcements of new messages, a skill.'
const license = 'MIT'
/** In seconds. */
const hookSeconds = 5

/** The files of all packages, by their paths below the folder `clients`. */
export function clientPackages(programs: PackagePrograms): Record<string, string> {
  return {
    ...within('claude', claudePackage(programs)),
    ...within('opencode', openCodePackage(programs)),
    ...within('gemini', geminiPackage(programs)),
  }
}

/** A marketplace with one plugin, which Claude Code and Codex can add. They name the folder of a plugin differently. */
function claudePackage({ hook }: PackagePrograms): Record<string, string> {
  const about = { name: serverName, version, description, license, author: { name: serverName } }
  const claude = claudeHooks.auto.map(([event, ...hooks]) => [event, [{
    hooks: hooks.map((hook) => claudeHook(['node', '${CLAUDE_PLUGIN_ROOT}/hook.mjs', 'claude', hook], hook)),
  }]])
  const codex = codexHooks.auto.map(([event, hook]) => [event, [{
    hooks: [{ type: 'command', command: `node "\${PLUGIN_ROOT}/hook.mjs" codex ${hook}`, timeout: hookSeconds }],
  }]])
  const server = { type: 'http', url: '${AGENT_GRID_URL}/mcp/v1/grid', headers: bearer('${AGENT_GRID_KEY}') }
  return {
    '.claude-plugin/marketplace.json': json({
      name: serverName,
      owner: { name: serverName },
      metadata: { description },
      plugins: [{ name: serverName, source: './plugin', description }],
    }),
    'plugin/.claude-plugin/plugin.json': json({ ...about, mcpServers: './claude.mcp.json' }),
    // Codex replaces no variables in addresses, so the entry for the tools is left to "codex mcp add".
    'plugin/.codex-plugin/plugin.json': json({ ...about, skills: './skills/', hooks: './hooks/codex.json' }),
    'plugin/claude.mcp.json': json({ mcpServers: { [serverName]: server } }),
    'plugin/hooks/hooks.json': json({ description, hooks: Object.fromEntries(claude) }),
    'plugin/hooks/codex.json': json({ hooks: Object.fromEntries(codex) }),
    'plugin/hook.mjs': hook,
    [`plugin/skills/${serverName}/SKILL.md`]: skill(),
  }
}

function openCodePackage({ openCodePlugin }: PackagePrograms): Record<string, string> {
  return {
    'package.json': json({
      name: `opencode-${serverName}`,
      version,
      description,
      license,
      type: 'module',
      main: 'index.js',
      exports: { '.': './index.js', './server': './index.js' },
      files: ['index.js', 'skills'],
    }),
    'index.js': openCodePlugin,
    [`skills/${serverName}/SKILL.md`]: skill(),
  }
}

function geminiPackage({ hook }: PackagePrograms): Record<string, string> {
  const hooks = geminiHooks.auto.map(([event, hook]) => [event, [{
    hooks: [{
      name: serverName,
      type: 'command',
      command: `node "\${extensionPath}/hook.mjs" gemini ${hook}`,
      timeout: hookSeconds * 1_000,
    }],
  }]])
  const setting = (name: string, about: string, envVar: string, sensitive = false) => ({
    name,
    description: about,
    envVar,
    ...(sensitive && { sensitive }),
  })
  return {
    'gemini-extension.json': json({
      name: serverName,
      version,
      description,
      mcpServers: {
        [serverName]: { httpUrl: '${AGENT_GRID_URL}/mcp/v1/grid', headers: bearer('${AGENT_GRID_KEY}') },
      },
      settings: [
        setting('Address', 'The address of the grid, such as https://grid.example.com', 'AGENT_GRID_URL'),
        setting('Agent', 'The alias of the agent, such as @ann', 'AGENT_GRID_ALIAS'),
        setting('Key', 'A key of the agent, from its page on the grid', 'AGENT_GRID_KEY', true),
      ],
    }),
    'hooks/hooks.json': json({ hooks: Object.fromEntries(hooks) }),
    'hook.mjs': hook,
    [`skills/${serverName}/SKILL.md`]: skill(),
  }
}

function within(folder: string, files: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(files).map(([path, text]) => [`${folder}/${path}`, text]))
}

function bearer(key: string): { Authorization: string } {
  return { Authorization: `Bearer ${key}` }
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`
}
