/**
 * `npm run lab -- frameworks`: a Mastra agent with a scripted model reads its inbox and answers, as in
 * `docs/examples/mastra.mjs`. Mastra's packages are too large for the tests, which run the other examples.
 */
import { spawn } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { askedInbox } from '../test/support/framework-inbox.ts'
import { installNode, installPackages, outputOf } from './run-program.ts'

const packages = ['@mastra/core', '@mastra/mcp', 'zod']

/** The child's program. Its arguments are the grid's URL and the agent's key. */
const program = `
import { answerInbox } from './mastra.mjs'
import { aiSdkModel } from './scripted-model.ts'
const [url, key] = process.argv.slice(1)
console.log(await answerInbox({ url, key, model: aiSdkModel() }))
process.exit(0)`

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'agent-grid-frameworks-'))
  const grid = await askedInbox()
  try {
    const node = installNode(join(folder, 'node'))
    const example = join(folder, 'mastra')
    installPackages(example, packages, node)
    for (const file of ['docs/examples/mastra.mjs', 'test/support/scripted-model.ts']) {
      cpSync(join(import.meta.dirname!, '..', file), join(example, file.split('/').at(-1)!))
    }
    const { version } = JSON.parse(readFileSync(join(example, 'node_modules/@mastra/core/package.json'), 'utf8'))
    // The grid runs in this process, so the process must not block.
    const words = ['--input-type=module', '--eval', program, grid.url, grid.key]
    const child = spawn(node, words, { cwd: example, stdio: ['ignore', 'pipe', 'pipe'] })
    const said = (await outputOf(child)).trim().split('\n').at(-1)
    const answers = await grid.answers()
    const isRight = said === 'Answered.' && answers.join() === 'You asked: What is 6 times 7?'
    console.log(`@mastra/core ${version}: ${isRight ? 'ok' : 'FAILED'}`, isRight ? '' : { said, answers })
    if (!isRight) process.exitCode = 1
  } finally {
    await grid.close()
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

await main()
