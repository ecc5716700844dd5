import type { Row, Value } from '@libsql/client'

export type RowClass = new (values: Value[]) => Row

/** The class of the rows of a result: values by name are own properties, values by index are getters of the class. */
export function rowClassOf(names: string[]): RowClass {
  // The first of two columns with the same name wins, and an index wins over a column with a number as its name.
  const named = names.map((name, i) => ({ name, i }))
    .filter(({ name, i }) => names.indexOf(name) === i && !(Number(name) < names.length))

  class NamedRow {
    [name: string]: Value
    readonly #values: Value[]

    static {
      for (const i of names.keys()) {
        Object.defineProperty(this.prototype, i, {
          get(this: NamedRow) {
            return this.#values[i]
          },
        })
      }
      Object.defineProperty(this.prototype, 'length', { value: names.length })
    }

    constructor(values: Value[]) {
      this.#values = values
      for (const { name, i } of named) this[name] = values[i]
    }
  }
  return NamedRow as unknown as RowClass
}
