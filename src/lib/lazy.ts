/** Objects whose properties are created on first read, and then kept. */

/**
 * Returns a class of lazy objects with these properties. `make` creates a property by name. The class defines the
 * getters, because objects with their own getters would each cost a hidden class.
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

/** Returns a lazy object, given the functions that create its properties. */
export function lazy<T extends object>(make: { readonly [Name in keyof T]: () => T[Name] }): Readonly<T> {
  return new (lazyClass<T>(Object.keys(make) as (keyof T)[]))((name) => make[name]())
}

/** Returns a function that calls `create` on its first call, and returns that result on every call. */
export function once<T>(create: () => T): () => T {
  let created: { value: T } | undefined
  return () => (created ??= { value: create() }).value
}
