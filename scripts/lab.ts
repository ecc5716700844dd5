/** `npm run lab -- NAME [OPTIONS]` runs a rarely used program. Without a name, it lists the programs. */
import { spawnSync } from 'node:child_process'
import process from 'node:process'
import { fileURLToPath, pathToFileURL } from 'node:url'

/** The programs in `scripts/`, with their purposes. */
export const programs: Record<string, string> = {
  binary: 'builds the whole program into one executable file',
  package: 'builds the package for npm',
  'first-day': 'does what an operator does on the first day, with the binary or the package',
  cluster: 'runs three processes on one libsql-server behind one URL',
  fuzz: 'sends changed requests to all doors',
  backup: 'backs a large grid up under load, and restores it',
  'console-size': 'measures the pages of an account with a million messages',
  soak: 'lets weeks pass with steady traffic, and looks for rows that are left over',
  flood: 'measures honest accounts while one account floods the grid',
  'new-connections': 'measures new connections under load',
  'task-streams': 'follows streams of tasks over kills and processes',
  reservations: 'lets parallel agents reserve overlapping names, over kills and processes',
  runners: 'kills runners of agents at every step of their work',
  wake: 'measures what wakes real coding clients in terminals',
  up: 'lets Claude Code and Codex answer each other from an untouched home, and ten sessions in one folder',
  connected: 'connects the coding clients of this machine to a grid, of this or another build, and lets them list it',
  'a2a-clients': 'lets frameworks that speak A2A call an agent',
  'a2a-responder': 'serves an agent for the official test suites of A2A',
  frameworks: 'lets an agent of Mastra read its inbox and answer',
  'call-path': 'prints the files and functions that one call passes',
  mutants: 'breaks files in many small ways and lists the changes that no test notices',
  'try-release': 'publishes a release to this machine and installs it as docs/releasing.md says',
  released: 'keeps what programs rely on in this version, with which later ones are compared',
  'archive-fixture': 'writes the archive of a new version of the format for the tests',
  'released-schema': 'writes a database of a released schema for the tests',
}

/** Programs that run the long form of a test. */
const longer = ['fuzz', 'backup', 'console-size', 'soak', 'flood', 'new-connections', 'reservations', 'task-streams']

async function run(name: string, words: string[]): Promise<void> {
  const file = (name: string) => fileURLToPath(new URL(name, import.meta.url))
  // Only Bun can build the binary.
  if (name === 'binary') {
    const command = [file('other-runtime.js'), 'bun', file('binary.ts'), ...words]
    process.exit(spawnSync(process.execPath, command, { stdio: 'inherit' }).status ?? 1)
  }
  const [program, args] = longer.includes(name) ? ['longer', [name, ...words]] : [name, words]
  process.argv = [process.execPath, file(`${program}.ts`), ...args]
  await import(pathToFileURL(process.argv[1]).href)
}

function list(): string {
  const width = Math.max(...Object.keys(programs).map((name) => name.length))
  const lines = Object.entries(programs).map(([name, purpose]) => `  ${name.padEnd(width)}  ${purpose}`)
  return ['Usage: npm run lab -- NAME [OPTIONS]', '', ...lines].join('\n')
}

if (process.argv[1]?.endsWith('lab.ts')) {
  const [name, ...words] = process.argv.slice(2)
  if (Object.hasOwn(programs, name ?? '')) await run(name, words)
  else {
    console.log(list())
    if (name !== undefined) process.exitCode = 2
  }
}
