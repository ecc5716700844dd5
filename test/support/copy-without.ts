/** A copy of this repository without some optional features. */
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

/** Folders that are not copied. Of these, only `node_modules` is linked. */
const left = ['.git', '.mutants', 'data', 'dist', 'screenshots', 'node_modules']

export const featureNames = readdirSync('src/features')

/**
 * Copies the repository without these features' lines; with `isDeleted`, also without the features' folders. The caller
 * deletes the copy.
 */
export function copyWithout(names: readonly string[], { isDeleted }: { isDeleted: boolean }): string {
  const copy = mkdtempSync(join(tmpdir(), 'agent-grid-without-'))
  for (const path of readdirSync('.').filter((path) => !left.includes(path))) {
    cpSync(path, join(copy, path), { recursive: true })
  }
  symlinkSync(resolve('node_modules'), join(copy, 'node_modules'))
  const list = join(copy, 'src/features.ts')
  writeFileSync(list, names.reduce(withoutLine, readFileSync(list, 'utf8')))
  const jobs = join(copy, 'src/feature-jobs.ts')
  const others = readFileSync(jobs, 'utf8').split('\n').filter((line) =>
    !names.some((name) => line.includes(`/${name}/`))
  )
  writeFileSync(jobs, others.join('\n'))
  if (isDeleted) { for (const name of names) rmSync(join(copy, 'src/features', name), { recursive: true }) }
  return copy
}

function withoutLine(text: string, name: string): string {
  const [line, variable] = new RegExp(`import { (\\w+) } from './features/${name}/feature.ts'\n`).exec(text)!
  return text.replace(line, '').replace(`  ${variable},\n`, '')
}
