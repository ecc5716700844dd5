/**
 * Runs a page's commands as a reader would: in a folder like a checkout, with a running grid, in a bash that runs the
 * blocks as printed. Only the port differs. `standIns` replaces some programs on the path.
 */
import { spawn, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { build } from '../../scripts/build.js'
import { freePort } from '../../src/lib/free-port.ts'
import type { ShellBlock } from './shell-blocks.ts'

export interface PageResult {
  /** The exit code, which is 0 if every block succeeded. */
  status: number | null
  /** The complete output, with `# line NUMBER` before each block. */
  output: string
}

/** The shell in which a page's blocks run. */
export interface PageShell {
  /** Runs the test's script and then the blocks, in a single bash. */
  run(blocks: readonly ShellBlock[], before?: string): Promise<PageResult>
  /** Stops the grid and removes the folder. */
  close(): void
}

const repository = fileURLToPath(new URL('../..', import.meta.url))

/** No page takes this long on a loaded machine. A block that waits forever fails with its output so far. */
const patienceMs = 60_000

const standIns: Record<string, string> = {
  // Documented commands that run until Ctrl-C run in the background here, or until the test has seen their effect.
  'agent-grid': `case "\${1-}" in
  serve) exec in-background node "$PROGRAM" serve ;;
  run) node "$PROGRAM" "$@" & until eval "$HAS_RUN"; do sleep 0.1; done; kill $!; wait $! ;;
  *) exec node "$PROGRAM" "$@" ;;
esac`,
  // `ci` does nothing, because the packages are installed. `test` does nothing, because this is one of the tests.
  npm: `case "$*" in
  ci | test) ;;
  start) in-background sh -c "$(node -p 'require("./package.json").scripts.start')" ;;
  *) exec "$REAL_NPM" "$@" ;;
esac`,
  // An HTTP error makes the command fail, unlike with plain curl. An endless stream is ended after 2 s.
  curl: `answer=$(mktemp) limit=() ; case " $* " in *' -sN '*) limit=(--max-time 2) ;; esac
"$REAL_CURL" --fail-with-body "\${limit[@]}" "$@" > "$answer"; code=$?
cat "$answer"
case "$code \${limit[*]}" in '28 --max-time 2') code=0 ;; esac
grep -qE '"(error|isError)": ?[{t]' "$answer" && code=22
exit $code`,
  'in-background': `cd "$GRID_FOLDER"; rm -f ended server.log
( "$@" > server.log 2>&1 & echo $! > server.pid; wait $!; touch ended ) < /dev/null > /dev/null 2>&1 &
until grep -q 'is running at' server.log 2> /dev/null; do
  if [ -e ended ]; then cat server.log >&2; exit 1; fi
  sleep 0.02
done`,
  'grid-runs': `[ -e server.pid ] && [ ! -e ended ] || agent-grid serve`,
  'grid-stops': `[ -e server.pid ] && [ ! -e ended ] || exit 0
kill "$@" "$(cat server.pid)"; until [ -e ended ]; do sleep 0.02; done; rm server.pid`,
}

/** Creates a shell in a new folder. `data` is copied as its grid's data. Without `data`, there is no grid yet. */
export async function pageShell(data?: string): Promise<PageShell> {
  const folder = mkdtempSync(join(tmpdir(), 'agent-grid-page-'))
  const [bin, home] = [join(folder, 'bin'), join(folder, 'home')]
  for (const made of [bin, home]) mkdirSync(made)
  for (const [name, text] of Object.entries(standIns)) {
    writeFileSync(join(bin, name), `#!/bin/bash\n${text}\n`, { mode: 0o755 })
  }
  for (const name of readdirSync(repository).filter((name) => !/^(data|dist|release|\.git)$/.test(name))) {
    symlinkSync(join(repository, name), join(folder, name))
  }
  if (data !== undefined) cpSync(data, join(folder, 'data'), { recursive: true })
  const env = {
    PATH: [bin, dirname(process.execPath), '/usr/local/bin:/usr/bin:/bin'].join(':'),
    HOME: home,
    TMPDIR: home,
    GRID_FOLDER: folder,
    PROGRAM: await build('src/main.ts'),
    REAL_CURL: pathOf('curl'),
    REAL_NPM: pathOf('npm'),
    PORT: String(await freePort()),
    LOG_LEVEL: 'warn',
    // Tests must not access the internet.
    OAUTH_CIMD: 'off',
  }

  return {
    async run(blocks, before = '') {
      const script = [
        ...(before === '' ? [] : ['grid-runs', before]),
        ...blocks.flatMap(({ line, text, isStopped }) => [
          isStopped ? 'grid-stops' : 'grid-runs',
          `echo '# line ${line}'`,
          text,
        ]),
      ].join('\n').replaceAll('localhost:8787', `localhost:${env.PORT}`)
      // The output goes through a pipe of the shell, because a Node socket cannot be opened as /dev/stderr.
      const words = ['-o', 'pipefail', '-c', 'bash -euo pipefail -c "$1" 2>&1 | cat', 'bash', script]
      const child = spawn('bash', words, {
        cwd: folder,
        env,
        detached: true,
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      let output = ''
      child.stdout.setEncoding('utf8').on('data', (text) => output += text)
      const timer = setTimeout(() => process.kill(-child.pid!, 'SIGKILL'), patienceMs)
      const status = await new Promise<number | null>((resolve) => child.once('close', resolve))
      clearTimeout(timer)
      return { status, output }
    },
    close() {
      spawnSync('grid-stops', ['-9'], { cwd: folder, env })
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

function pathOf(program: string): string {
  return spawnSync('which', [program], { encoding: 'utf8' }).stdout.trim()
}
