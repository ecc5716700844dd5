/** A test's home folder with client files. */
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import process from 'node:process'

/** Environment variables that relocate the clients' folders. */
const variables = ['CLAUDE_CONFIG_DIR', 'CODEX_HOME', 'COPILOT_HOME', 'GEMINI_CLI_HOME', 'XDG_CONFIG_HOME']
  .concat('XDG_DATA_HOME', 'XDG_STATE_HOME', 'AGENT_GRID_URL', 'AGENT_GRID_KEY', 'AGENT_GRID_ALIAS')

/** A file in the home folder: text, bytes, text with permissions, or a link's target. */
export type HomeFile = string | Uint8Array | { text: string; mode: number } | { link: string }

export interface Home {
  folder: string
  /** The environment for programs with this home folder. */
  env: Record<string, string>
  write(path: string, file: HomeFile): void
  read(path: string): string
  /** All files and folders in the home folder, with permissions and contents. */
  tree(): Record<string, string>
  remove(): void
}

/** Creates a home folder, which this process uses until it is removed. */
export function testHome(): Home {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'agent-grid-home-')))
  const home = join(folder, 'home')
  mkdirSync(home)
  const before = { ...process.env }
  for (const name of variables) delete process.env[name]
  const own = { HOME: home, USERPROFILE: home, AGENT_GRID_HOME: join(folder, 'agent-grid') }
  Object.assign(process.env, own)
  const { PATH = '' } = process.env
  return {
    folder: home,
    env: { PATH, ...own },
    write(path, file) {
      const target = join(home, path)
      mkdirSync(dirname(target), { recursive: true })
      if (typeof file === 'object' && 'link' in file) return symlinkSync(file.link, target)
      const { text, mode } = typeof file === 'object' && 'text' in file ? file : { text: file, mode: 0o644 }
      writeFileSync(target, text)
      chmodSync(target, mode)
    },
    read: (path) => readFileSync(join(home, path), 'utf8'),
    tree: () => Object.fromEntries(treeOf(home, '')),
    remove() {
      for (const name of [...variables, ...Object.keys(own)]) {
        if (before[name] === undefined) delete process.env[name]
        else process.env[name] = before[name]
      }
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function treeOf(root: string, path: string): [string, string][] {
  return readdirSync(join(root, path)).sort().flatMap((name): [string, string][] => {
    const own = join(path, name)
    const full = join(root, own)
    const { mode } = lstatSync(full)
    if (lstatSync(full).isSymbolicLink()) return [[own, `link to ${readlinkSync(full)}`]]
    const permissions = (mode & 0o777).toString(8)
    if (lstatSync(full).isDirectory()) return [[own, `folder ${permissions}`], ...treeOf(root, own)]
    return [[own, `${permissions} ${readFileSync(full).toString('latin1')}`]]
  })
}
