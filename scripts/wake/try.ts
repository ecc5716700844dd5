import { mkdirSync, rmSync } from 'node:fs'
import { startLabGrid } from './lab-grid.ts'
import { startScriptedModel } from './scripted-model.ts'
import { closeTerminals } from './terminal.ts'
import { readWhenTold } from './scripts.ts'
import { codex } from './codex.ts'
const folder = '/tmp/hk/lab'
rmSync(folder, { recursive: true, force: true }); mkdirSync(folder, { recursive: true })
const grid = await startLabGrid(folder)
const [ann, bob] = [grid.createAgent('ann-x'), grid.createAgent('bob-x')]
const model = await startScriptedModel(readWhenTold)
const show = (s: any) => console.log(s.terminal.screen().replace(/\n\s*\n+/g, '\n'))
try {
  const session = await codex.open({ name: 'c1', folder: folder + '/c1', program: '/tmp/clients19/codex/node_modules/.bin/codex', grid: grid.url, agent: ann, model: model.url('c1'), budget: 1000, hookProgram: process.cwd() + '/dist/src/client.js' })
  await session.prompt('hi codex')
  await new Promise((r) => setTimeout(r, 5000))
  show(session)
  const at = await grid.send(bob, ann, 'hello ann')
  await new Promise((r) => setTimeout(r, 6000))
  console.log(model.asked.map((a) => [a.at - at, a.news.slice(-400), a.tools.filter((t) => /read_m/.test(t))]))
  show(session)
} finally { closeTerminals(); await model.close(); await grid.close() }
