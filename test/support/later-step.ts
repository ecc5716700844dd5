import { onTestFinished } from 'vitest'
import { migrations } from '../../db/migrations.ts'

/** Until the end of the test, this process is a newer program, whose schema has a further step. Returns its name. */
export function addStep(...statements: string[]): string {
  const name = `000${migrations.length}_later`
  migrations.push({ name, hash: name, statements })
  onTestFinished(() => void migrations.pop())
  return name
}
