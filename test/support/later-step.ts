import { onTestFinished } from 'vitest'
import { migrations } from '../../db/migrations.ts'

/**
 * Makes this process act as a newer program until the end of the test. Its schema has an additional step. Returns the
 * step's name.
 */
export function addStep(...statements: string[]): string {
  const step = laterStep(statements)
  migrations.push(step)
  onTestFinished(() => void migrations.pop())
  return step.name
}

/** Adds a step to the schema while `work` runs. With `compatible`, a program without the step may use the database. */
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

/** Statements that upgrade a database as a newer program would, so that this program cannot use the database. */
export const newerSchema = [
  "INSERT INTO __drizzle_migrations (id, hash) VALUES (99, 'x')",
  "UPDATE store_facts SET value = '99' WHERE key = 'needed_schema'",
]
