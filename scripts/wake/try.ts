import { mkdirSync, rmSync } from 'node:fs'
import { build } from 'esbuild'
import { startLabGrid } from './lab-grid.ts'
import { startScriptedModel } from './scripted-model.ts'
import { closeTerminals } from './terminal.ts'
import { readWhenTold } from './scripts.ts'
import { openCode } from './opencode.ts'
const folder = '/tmp/hk/lab'
rmSync(folder, { recursive: true, force: true })
mkdirSync(folder, { recursive: true })
await build({
  entryPoints: ['src/clients/opencode-plugin.ts'],
  bundle: true,
  platform: 'node',
  format: 'esm',
  outfile: folder + '/plugin.js',
})
const grid = await startLabGrid(folder)
const [ann, bob] = [grid.createAgent('ann-x'), grid.createAgent('bob-x')]
const model = await startScriptedModel(readWhenTold)
const show = (s: any) => console.log(s.terminal.screen().replace(/\n\s*\n+/g, '\n'))
try {
  const session = await openCode.open({
    name: 'c1',
    folder: folder + '/c1',
    program: '/tmp/clients19/opencode/node_modules/.bin/opencode',
    grid: grid.url,
    agent: ann,
    model: model.url('c1'),
    budget: 1000,
    hookProgram: process.cwd() + '/dist/src/client.js',
    openCodePlugin: folder + '/plugin.js',
  })
  await session.prompt('hi opencode')
  await new Promise((r) => setTimeout(r, 5000))
  show(session)
  const at = await grid.send(bob, ann, 'hello ann')
  await new Promise((r) => setTimeout(r, 7000))
  console.log(model.asked.map((a) => [a.at - at, a.news.slice(-400), a.tools.filter((t) => /read_m/.test(t))]))
  show(session)
} finally {
  closeTerminals()
  await model.close()
  await grid.close()
}
