/** Runs other programs until they end, and installs npm packages for trials. */
import { type ChildProcess, execFileSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import process from 'node:process'

export interface Result {
  code: number | null
  stdout: string
  stderr: string
  /** Standard output and standard error, in the order of arrival. */
  output: string
}

/**
 * Resolves when a program with pipes has ended. Rejects if it could not be started. `onOutput` is called with all
 * output so far whenever more arrives.
 */
export function ended(child: ChildProcess, onOutput: (output: string) => void = () => {}): Promise<Result> {
  const texts = { stdout: '', stderr: '', output: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]!.setEncoding('utf8').on('data', (text) => {
      texts[name] += text
      onOutput(texts.output += text)
    })
  }
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, ...texts }))
  })
}

/** Resolves to a program's standard output. Rejects with the program's output if its exit code is not 0. */
export async function outputOf(child: ChildProcess): Promise<string> {
  const { code, stdout, output } = await ended(child)
  if (code !== 0) throw new Error(`${child.spawnargs.join(' ')} ended with ${code}: ${output}`)
  return stdout
}

/**
 * Installs packages into a folder, unless the folder already contains packages. Install scripts do not run. `node` runs
 * npm, which chooses package versions for that Node version.
 */
export function installPackages(folder: string, packages: readonly string[], node = process.execPath): void {
  if (existsSync(join(folder, 'node_modules'))) return
  console.log(`Installing ${packages.join(' and ')}`)
  mkdirSync(folder, { recursive: true })
  const npm = process.env.npm_execpath
  if (npm === undefined) throw new Error('Start this with npm run.')
  const options = ['--prefix', folder, '--ignore-scripts', '--no-audit', '--no-fund', '--engine-strict=false']
  const env = { ...process.env, PATH: `${dirname(node)}${delimiter}${process.env.PATH}` }
  const stdio: ['ignore', 'ignore', 'inherit'] = ['ignore', 'ignore', 'inherit']
  execFileSync(node, [npm, 'install', '--loglevel=error', ...options, ...packages], { env, stdio })
}

/** The newest Node version that all frameworks run on. */
const nodeVersion = '24'

/** Installs Node from an npm package, without the script that would download it. Returns the path of the program. */
export function installNode(folder: string): string {
  const name = `node-${process.platform}-${process.arch}`
  installPackages(folder, [`${name}@${nodeVersion}`])
  return join(folder, 'node_modules', name, 'bin', 'node')
}
