import { onTestFinished } from 'vitest'
import { migrations } from '../../db/migrations.ts'

/** Until the end of the test, this process is a newer program, whose schema has a further step. Returns its name. */
export function addStep(...statements: string[]): string {
  const step = laterStep(statements)
  migrations.push(step)
  onTestFinished(() => void migrations.pop())
  return step.name
}

/** The same while `work` runs. With `compatible` the program without the step may use the database. */
export async function withStep<Result>(
  statements: string[],
  compatible: boolean,
  work: () => Promise<Result>,
): Promise<Result> {
  migrations.push({ ...laterStep(statements), compatible })
  try {
    return await work()
  } finally {
    migrations.pop()
  }
}

function laterStep(statements: string[]) {
  const name = `000${migrations.length}_later`
  return { name, hash: statements.join(), statements }
}

/** What a newer program makes of a database, which this one cannot use then. */
export const newerSchema = [
  "INSERT INTO __drizzle_migrations (id, hash) VALUES (99, 'x')",
  "UPDATE store_facts SET value = '99' WHERE key = 'needed_schema'",
]
