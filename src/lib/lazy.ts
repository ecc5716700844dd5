/** Objects whose properties are created on first access and then cached. */

/**
 * Creates a class of objects with these properties. `make` creates the property with a given name. The class contains
 * the getters, because each object with its own getters would need its own hidden class.
 */
export function lazyClass<T extends object>(names: readonly (keyof T)[]): new (make: (name: keyof T) => unknown) => T {
  class Lazy {
    readonly make: (name: keyof T) => unknown
    readonly made: { [Name in keyof T]?: unknown } = {}

    constructor(make: (name: keyof T) => unknown) {
      this.make = make
    }
  }
  for (const name of names) {
    Object.defineProperty(Lazy.prototype, name, {
      enumerable: true,
      get(this: Lazy) {
        return this.made[name] ??= this.make(name)
      },
    })
  }
  return Lazy as unknown as new (make: (name: keyof T) => unknown) => T
}

/** Creates an object with these properties. Each function creates the property of the same name on first access. */
export function lazy<T extends object>(make: { readonly [Name in keyof T]: () => T[Name] }): Readonly<T> {
  return new (lazyClass<T>(Object.keys(make) as (keyof T)[]))((name) => make[name]())
}

/** Returns a function that calls `create` once, and returns the same result on every call. */
export function once<T>(create: () => T): () => T {
  let created: { value: T } | undefined
  return () => (created ??= { value: create() }).value
}
