// @ts-check
/** Builds a TypeScript program of this repository and runs it on Node: `node scripts/node.js src/main.ts serve`. */
import process from 'node:process'
import { pathToFileURL } from 'node:url'
import { build } from './build.js'

const [node, , program, ...words] = process.argv
if (!program) throw new Error('Usage: node scripts/node.js PROGRAM ARGUMENTS')
const file = await build(program)
// Makes the arguments look as if Node had been started with the built file.
process.argv = [node, file, ...words]
await import(pathToFileURL(file).href)
