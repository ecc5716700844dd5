/** agent-grid as an operator gets it: the binary or the npm package in an empty folder, with an empty home folder. */
import { type ChildProcess, spawn } from 'node:child_process'
import { copyFileSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { version } from '../../src/lib/version.ts'
import { ended, type Result } from '../run-program.ts'

export type Kind = 'binary' | 'package'

/** A server started with `serve`. */
export interface Server {
  /** The text that the server prints when it is ready. */
  greeting: string
  /** Kills the server with SIGKILL. */
  kill(): Promise<void>
  /** Stops the server with SIGTERM, within 20 seconds. */
  stop(): Promise<Result>
}

const repository = fileURLToPath(new URL('../..', import.meta.url))
/** The package's name on npm. */
const packageName: string = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')).name

export class Program {
  readonly kind: Kind
  /** The empty folder in which the program is installed and started. */
  readonly folder: string
  readonly url: string
  readonly #words: string[]
  readonly #env: Record<string, string>

  constructor(kind: Kind, root: string, port: number) {
    this.kind = kind
    this.folder = join(root, 'grid')
    this.url = `http://localhost:${port}`
    const home = join(root, 'home')
    for (const made of [this.folder, home]) mkdirSync(made)
    this.#words = kind === 'binary' ? ['./agent-grid'] : ['npx', '--no', '--', packageName]
    this.#env = {
      PATH: kind === 'binary' ? '/usr/bin:/bin' : `${dirname(process.execPath)}:/usr/bin:/bin`,
      HOME: home,
      PORT: String(port),
      // Variables that tell npm where to get packages with native parts. A grid's settings are not passed on.
      ...Object.fromEntries(Object.entries(process.env).filter(([name]) => kept.test(name))) as Record<string, string>,
    }
  }

  /** Builds the program from the repository. Resolves to the file's path. */
  async build(): Promise<string> {
    const built = await ended(
      spawn('npm', ['run', '--silent', 'lab', '--', this.kind], { cwd: repository, stdio: ['ignore', 'pipe', 'pipe'] }),
    )
    if (built.code !== 0) throw new Error(`npm run lab -- ${this.kind} ended with ${built.code}: ${built.stderr}`)
    return join(
      repository,
      'release',
      this.kind === 'binary' ? 'agent-grid' : `${packageName.slice(1).replace('/', '-')}-${version}.tgz`,
    )
  }

  /** Copies only the file into the folder. A package is also installed. */
  async install(file: string): Promise<void> {
    if (this.kind === 'binary') return copyFileSync(file, join(this.folder, 'agent-grid'))
    const { code, stderr } = await this.shell('npm', 'install', '--no-audit', '--no-fund', file)
    if (code !== 0) throw new Error(`npm install ended with ${code}: ${stderr}`)
  }

  /** Runs an agent-grid command until it ends. */
  run(...words: string[]): Promise<Result> {
    return this.shell(...this.#words, ...words)
  }

  /** Runs another command in the folder. */
  shell(...words: string[]): Promise<Result> {
    return ended(this.#spawn(words, {}))
  }

  /** Runs a command with additional environment variables. */
  runWith(env: Record<string, string>, ...words: string[]): Promise<Result> {
    return ended(this.#spawn([...this.#words, ...words], env))
  }

  /** Runs `serve`. Resolves once it has printed its greeting. */
  async serve(): Promise<Server> {
    // npx starts the server as a child process. A separate process group lets signals reach both.
    const child = this.#spawn([...this.#words, 'serve'], {}, true)
    const end = ended(child)
    const signal = (name: NodeJS.Signals) => {
      if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid!, name)
    }
    const greeting = await new Promise<string>((resolve, reject) => {
      let text = ''
      child.stdout!.on('data', (more) => {
        text += more
        // The greeting arrives in a single write.
        if (text.includes('agent-grid is running at ')) resolve(text)
      })
      end.then(({ code, stderr }) => reject(new Error(`serve ended with ${code}: ${stderr}`)))
    })
    const endWith = async (name: NodeJS.Signals) => {
      signal(name)
      return await end
    }
    return { greeting, kill: async () => void await endWith('SIGKILL'), stop: () => endWith('SIGTERM') }
  }

  #spawn([program, ...words]: string[], env: Record<string, string>, detached = false): ChildProcess {
    return spawn(program, words, {
      cwd: this.folder,
      env: { ...this.#env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached,
    })
  }
}

const kept =
  /^(LANG|TMPDIR|https?_proxy|HTTPS?_PROXY|NO_PROXY|no_proxy|NODE_EXTRA_CA_CERTS|npm_config_(registry|cache|userconfig))$/
