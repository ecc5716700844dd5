/** Writes the plugins and extensions for coding clients into a folder. See docs/clients.md, "Plugins and extensions". */
import * as esbuild from 'esbuild'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { clientPackages } from '../src/clients/packages.ts'

const root = fileURLToPath(new URL('..', import.meta.url))

/** Builds the packages. Empties the folder first. */
export async function writeClientPackages(folder: string): Promise<void> {
  const [hook, openCodePlugin] = await Promise.all([
    bundle('src/clients/hook-program.ts'),
    bundle('src/clients/opencode-plugin.ts'),
  ])
  rmSync(folder, { recursive: true, force: true })
  for (const [path, text] of Object.entries(clientPackages({ hook, openCodePlugin }))) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
}

/** Bundles a program into one module, including its dependencies. */
async function bundle(program: string): Promise<string> {
  const { outputFiles: [{ text }] } = await esbuild.build({
    absWorkingDir: root,
    entryPoints: [program],
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    minifyWhitespace: true,
    minifySyntax: true,
    tsconfigRaw: {},
    write: false,
  })
  return text
}
