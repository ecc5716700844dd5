/** The names of npm scripts and of the package, in documents, comments, tests and messages. */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { programs } from '../../scripts/lab.ts'

const files = execFileSync('git', ['ls-files', '-z'], { encoding: 'utf8' }).split('\0')
  .filter((path) => existsSync(path) && !/^$|package-lock|^test\/guardrails\/corpus\//.test(path))

const packageName: string = JSON.parse(readFileSync('package.json', 'utf8')).name

test('every "npm run" in the repository names a script, and every "npm run lab" a lab program', () => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'))
  const unknown = files.flatMap((path) =>
    [...readFileSync(path, 'utf8').matchAll(/npm run (?:-s |--silent )?(?:lab -- ([a-z0-9-]+)|([a-z][a-z0-9:-]*))/g)]
      .filter(([, program, script]) => !(program ? programs : scripts)[program ?? script])
      .map(([name]) => `${path}: ${name}`)
  )

  expect(unknown).toEqual([])
})

test('every lab program is a file in scripts/ or a longer test', () => {
  const longer = readFileSync('scripts/longer.ts', 'utf8')

  expect(
    Object.keys(programs).filter((name) =>
      !existsSync(`scripts/${name}.ts`) && !new RegExp(`^  '?${name}'?: \\{`, 'm').test(longer)
    ),
  ).toEqual([])
})

/** A command that fetches a package or an image, up to its name. Argument lists count as command lines. */
const fetching =
  /\b(?:npx|bunx|(?:npm|pnpm|yarn|bun|deno|brew|pipx?)(?: global)? (?:install|i|exec|x|add|dlx|run npm:|npm:)|docker pull|podman pull)((?: +-\S+)*) *([@\w./:-]*\bagent-grid\b[\w./@-]*)/g

test('no command fetches the package by a name that is not ours, and only docs/releasing.md fetches it from a registry', () => {
  expect(
    files.filter((path) => path !== 'test/scripts/names.test.ts').flatMap((path) =>
      wrongFetches(path, readFileSync(path, 'utf8'))
    ),
  )
    .toEqual([])
  for (
    const line of [
      'npx agent-grid',
      'npm install -g agent-grid',
      "['npx', '--no', '--', 'agent-grid']",
      'bunx agent-grid serve',
      'npm i @other/agent-grid',
      `npx ${packageName}`,
      'docker pull ghcr.io/us/agent-grid',
    ]
  ) {
    expect(wrongFetches('README.md', line), line).toHaveLength(1)
  }
  for (const line of [`npx --no -- ${packageName} serve`, 'npx http://localhost:8787/agent-grid.tgz connect']) {
    expect(wrongFetches('README.md', line), line).toEqual([])
  }
})

function wrongFetches(path: string, text: string): string[] {
  return [...text.replace(/['"],\s*['"]/g, ' ').matchAll(fetching)].filter(([, flags, name]) => {
    if (/^\.\/|:\/\//.test(name)) return false
    const isPublished = !/ --no\b/.test(flags)
    return name.replace(/@[^/]*$/, '') !== packageName || (isPublished && path !== 'docs/releasing.md')
  }).map(([line]) => `${path}: ${line}`)
}

test('each workflow runs only scripts of the repository and official actions, without default write permission', () => {
  for (const path of files.filter((path) => path.startsWith('.github/workflows/'))) {
    const { permissions, jobs } = parse(readFileSync(path, 'utf8'))
    expect(permissions, path).toEqual({ contents: 'read' })
    for (const { steps, 'timeout-minutes': limit } of Object.values<Job>(jobs)) {
      expect(limit, path).toBeGreaterThan(0)
      for (const { run, uses } of steps) {
        if (uses) expect(uses).toMatch(/^actions\/[a-z-]+@v\d+$/)
        else expect(statSync(run!.split(' ')[0]).mode & 0o111, `${path}: ${run}`).toBeGreaterThan(0)
      }
    }
  }
})

interface Job {
  readonly 'timeout-minutes': number
  readonly steps: readonly { run?: string; uses?: string }[]
}
