/** The names of npm scripts, where documents, comments, tests and messages give them. */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { programs } from '../../scripts/lab.ts'

const files = execFileSync('git', ['ls-files', '-z'], { encoding: 'utf8' }).split('\0')
  .filter((path) => existsSync(path) && !/^$|package-lock|^test\/guardrails\/corpus\//.test(path))

test('every "npm run" in the repository names a script, and every "npm run lab" a program of the laboratory', () => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'))
  const unknown = files.flatMap((path) =>
    [...readFileSync(path, 'utf8').matchAll(/npm run (?:-s |--silent )?(?:lab -- ([a-z0-9-]+)|([a-z][a-z0-9:-]*))/g)]
      .filter(([, program, script]) => !(program ? programs : scripts)[program ?? script])
      .map(([name]) => `${path}: ${name}`)
  )

  expect(unknown).toEqual([])
})

test('every program of the laboratory is a file of scripts/, or a longer test', () => {
  const longer = readFileSync('scripts/longer.ts', 'utf8')

  expect(
    Object.keys(programs).filter((name) =>
      !existsSync(`scripts/${name}.ts`) && !new RegExp(`^  '?${name}'?: \\{`, 'm').test(longer)
    ),
  ).toEqual([])
})
