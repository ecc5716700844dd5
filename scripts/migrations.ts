/**
 * `npm run migration [-- NAME]`: writes `db/migrations.ts`, the steps that carry the schema into the program, from
 * `db/schema.ts` and `db/extra.sql`, and `db/derived-tables.ts` from the schema and `db/account-tables.ts`, so that a
 * start computes nothing. See docs/contributing.md, "Migrations".
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import process from 'node:process'
import { getTableName } from 'drizzle-orm'
import { getTableConfig } from 'drizzle-orm/sqlite-core'
import { accountTables } from '../db/account-tables.ts'
import { migrations } from '../db/migrations.ts'
import { released as releasedSteps } from '../db/released.ts'
import * as schema from '../db/schema.ts'
import { differences, incompatibilities, schemaAfter, statementsBetween } from './schema-changes.ts'

const { tablesWithoutRowid } = schema

export type Step = (typeof migrations)[number]

const baseline = '0000_grid'

/**
 * `steps` with the unreleased ones renewed: the first one from `fresh`, the statements of the whole schema; the step
 * NAME from what the others lack; any other keeps its statements, which may be written manually. `lacks` names the
 * parts of the schema that they do not create, and `ends` why the previous version cannot use the database after a
 * step.
 */
export function makeSteps(
  steps: readonly Step[],
  released: Readonly<Record<string, string>>,
  fresh: string[],
  name?: string,
): { steps: Step[]; lacks: string[]; ends: Record<string, string[]> } {
  const isReleased = (step: Step) => Object.hasOwn(released, step.name)
  const made = isReleased(steps[0]) ? steps.filter((step) => isReleased(step) || step.name.slice(5) !== name) : []
  const whole = schemaAfter(fresh)
  const schemaOf = (steps: readonly Step[]) => schemaAfter(steps.flatMap(({ statements }) => statements))
  if (made.length === 0) made.push({ name: baseline, hash: '', statements: fresh })
  else if (name !== undefined) {
    const number = String(made.length).padStart(4, '0')
    made.push({ name: `${number}_${name}`, hash: '', statements: statementsBetween(schemaOf(made), whole) })
  }
  const ends: Record<string, string[]> = {}
  const complete = made.map((step, n): Step => {
    const hash = createHash('sha256').update(step.statements.join('\n')).digest('hex')
    if (isReleased(step)) {
      if (released[step.name] !== hash) throw new Error(`The step ${step.name} was released with other statements.`)
      return step
    }
    const reasons = n === 0 ? [] : incompatibilities(schemaOf(made.slice(0, n)), schemaOf(made.slice(0, n + 1)))
    if (reasons.length > 0) ends[step.name] = reasons
    const isCompatible = n > 0 && reasons.length === 0 && step.compatible !== false
    const compatible = n === 0 ? {} : { compatible: isCompatible }
    return { name: step.name, hash, ...compatible, statements: step.statements }
  })
  return { steps: complete, lacks: differences(schemaOf(complete), whole), ends }
}

export function textOf(steps: readonly Step[]): string {
  return `// Made by scripts/migrations.ts. Edit only the statements of a step that db/released.ts does not name.
export const migrations: { name: string; hash: string; compatible?: boolean; statements: string[] }[] = ${
    JSON.stringify(steps, null, 2)
  }
`
}

/** Returns the statements that create the whole schema. */
export function makeSchema(): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'agent-grid-baseline-'))
  try {
    const kit = ['node_modules/drizzle-kit/bin.cjs', 'generate', '--dialect', 'turso', '--schema', 'db/schema.ts']
    execFileSync(process.execPath, [...kit, '--name', 'grid', '--out', relative('.', folder)], { stdio: 'pipe' })
    const tables = readFileSync(join(folder, `${baseline}.sql`), 'utf8').split('--> statement-breakpoint')
    const [, ...extra] = readFileSync('db/extra.sql', 'utf8').trim().split(/\n{2,}/)
    return [...tables.map(complete), ...extra]
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Including what drizzle cannot express. */
function complete(statement: string): string {
  const [, table] = /^CREATE TABLE `(.+)` \(/.exec(statement.trim()) ?? []
  return statement.trim().replace(/\);$/, tablesWithoutRowid.includes(table) ? ') WITHOUT ROWID;' : ');')
}

/** Returns the text of `db/derived-tables.ts`. */
export function makeDerivedTables(): string {
  const names = Object.keys(accountTables) as (keyof typeof accountTables)[]
  const configs = names.map((name) => ({ ...getTableConfig(schema[name]), ...accountTables[name] }))
  const sealed = configs.filter(({ columns }) => columns.some(({ name }) => name === 'encrypted_token'))
  const keys = configs.filter(({ name }) => tablesWithoutRowid.includes(name)).map(({ name, primaryKeys: [key] }) =>
    `  ${name}: '${key.columns.map((column) => column.name).join(', ')}',\n`
  )
  const list = (names: string[]) => names.map((name) => `  '${name}',\n`).join('')
  return `// Made by scripts/migrations.ts. Do not edit.
/** The tables that the removal of an account drains, in an order that their foreign keys permit. */
export const drainedTables: readonly string[] = [
${list(inOrder(configs.filter(({ removal }) => removal === 'drained')))}]

/** Account tables with sealed tokens. */
export const sealedTables: readonly string[] = [
${list(sealed.map(({ name }) => name))}]

/** The primary keys of tables without a \`rowid\`, whose rows SQLite stores by primary key. */
export const primaryKeys: Readonly<Record<string, string>> = {
${keys.join('')}}
`
}

/** Sorts tables so that each comes before those that it references. */
function inOrder(tables: Pick<ReturnType<typeof getTableConfig>, 'name' | 'foreignKeys'>[]): string[] {
  const waiting = new Map(tables.map((table) => [table.name, table]))
  const ordered: string[] = []
  while (waiting.size > 0) {
    const referenced = new Set(
      [...waiting.values()].flatMap(({ name, foreignKeys }) =>
        foreignKeys.map((key) => getTableName(key.reference().foreignTable)).filter((table) => table !== name)
      ),
    )
    const free = [...waiting.keys()].filter((name) => !referenced.has(name))
    if (free.length === 0) throw new Error(`These tables reference each other: ${[...waiting.keys()].join(', ')}`)
    for (const name of free) waiting.delete(name)
    ordered.push(...free)
  }
  return ordered
}

if (process.argv[1]?.endsWith('migrations.ts')) {
  const { steps, lacks, ends } = makeSteps(migrations, releasedSteps, makeSchema(), process.argv[2])
  writeFileSync('db/migrations.ts', textOf(steps))
  if (steps[0].hash !== migrations[0].hash) {
    console.log(
      'The first step changed. "npm run lab -- released-schema VERSION" makes the database of its tests anew.',
    )
  }
  writeFileSync('db/derived-tables.ts', makeDerivedTables())
  for (const [name, reasons] of Object.entries(ends)) {
    console.log(`After ${name} the version before cannot use the database: ${reasons.join(', ')}.`)
  }
  if (lacks.length > 0) {
    console.error(
      `No step makes these as the schema has them: ${
        lacks.join(', ')
      }. Give the step a name, "npm run migration -- NAME"; ` +
        'what it lacks then, write into its statements in db/migrations.ts by hand, and run "npm run migration".',
    )
    process.exitCode = 1
  }
}
