/** Verifies the hashes of both implementations with both, on the runtime that runs it, and tests the default one. */
import { type Argon2, argon2, nativeArgon2, wasmArgon2 } from '../../src/auth/passwords.ts'

async function main(): Promise<void> {
  const wasm = await wasmArgon2()
  const native = await nativeArgon2().catch(() => undefined)
  const all = [wasm, ...(native ? [native] : [])]
  const verified: boolean[] = []
  for (const { hash } of all) {
    const phc = await hash('correct hörse')
    for (const { verify } of all) {
      verified.push(await verify(phc, 'correct hörse') && !(await verify(phc, 'correct horse')))
    }
  }
  const chosen: Argon2 = await argon2()
  const works = await chosen.verify(await chosen.hash('correct hörse'), 'correct hörse')
  console.log(JSON.stringify({ native: native !== undefined, verified, works }))
}

main()
