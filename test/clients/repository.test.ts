import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { nameInRepository, spaceOf } from '../../src/clients/repository.ts'
import { type Home, testHome } from '../support/home.ts'

let home: Home
beforeEach(() => {
  home = testHome()
})
afterEach(() => home.remove())

const origin = '[remote "origin"]\n\turl = git@github.com:acme/app.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n'

test.each([
  ['origin', origin, 'github.com/acme/app'],
  ['no remote', '[core]\n\tbare = false\n[branch "main"]\n\turl = x\n', undefined],
  ['origin behind another remote', `[remote "a"]\n\turl = https://a.example/a\n${origin}`, 'github.com/acme/app'],
  [
    'the first of others',
    '[remote "a"] URL=https://a.example/a\n[remote "b"]\nurl=https://b.example/b\n',
    'a.example/a',
  ],
  ['a password', '[remote "origin"]\n url = https://me:se@cret@host.example/a.git # mine\n', 'host.example/a'],
  ['quotes and CRLF', '[remote "o"]\r\n\turl = "https://host.example/a#b" ; mine\r\n', 'host.example/a#b'],
  ['another scheme', '[remote "o"]\n\turl = git+ssh://me@host.example:2222/~me/a.git\n', 'host.example/~me/a'],
  ['a path', '[remote "o"]\n\turl = ../../srv/app.git\n', (root: string) => join(root, '../../srv/app.git')],
])('the space is correct for a repository with %s', (_, config, space) => {
  home.write('work/.git/config', config)
  home.write('work/src/deep/a.ts', '')

  const expected = typeof space === 'function' ? space(join(home.folder, 'work')) : space
  for (const folder of ['work', 'work/src/deep']) expect(spaceOf(join(home.folder, folder))).toBe(expected)
})

test("a worktree has its repository's space, a submodule has its own, and a folder without a repository has none", () => {
  home.write('work/.git/config', origin)
  home.write('work/.git/worktrees/other/commondir', '../..\n')
  home.write('other/.git', `gitdir: ${join(home.folder, 'work/.git/worktrees/other')}\n`)
  home.write('work/.git/modules/lib/config', '[remote "origin"]\n\turl = https://host.example/lib\n')
  home.write('work/lib/.git', 'gitdir: ../.git/modules/lib\n')
  home.write('broken/.git', 'nothing\n')

  expect(['other', 'work/lib', 'broken', ''].map((folder) => spaceOf(join(home.folder, folder)))).toEqual([
    'github.com/acme/app',
    'host.example/lib',
    undefined,
    undefined,
  ])
})

test.each([
  ['', 'src/a.ts', 'src/a.ts'],
  ['src', 'a.ts', 'src/a.ts'],
  ['src', './**/*.ts', 'src/**/*.ts'],
  ['src', '..\\docs\\?.md', 'docs/?.md'],
  ['src', '../Makefile', 'Makefile'],
  ['src', 'new/', 'src/new'],
  ['src/deep', '..', 'src/**'],
  ['src', '..', '**'],
  ['src', 'PROJ-12', 'PROJ-12'],
  ['src', 'deep', 'src/deep/**'],
  ['src', 'deep/a.ts/b.ts', 'src/deep/a.ts/b.ts'],
  ['src', 'https://tracker.example/12', 'https://tracker.example/12'],
  ['src', '../../elsewhere/a.ts', '../../elsewhere/a.ts'],
  ['src', '/etc/passwd', '/etc/passwd'],
  ['../elsewhere', 'a.ts', 'a.ts'],
])('in the folder %j of a repository, the path %j means the name %j', (folder, given, name) => {
  home.write('work/.git/config', origin)
  home.write('work/src/deep/a.ts', '')
  home.write('elsewhere/a.ts', '')

  expect(nameInRepository(given, join(home.folder, 'work', folder))).toBe(name)
})

test('a path or pattern in a repository has the same name in every folder', () => {
  home.write('work/.git/config', origin)
  home.write('work/a/b/c.ts', '')
  const segment = fc.constantFrom('a', 'b', '*', '**', '?.ts', 'c.ts', '..x', 'ü [1]')
  const path = fc.array(segment, { minLength: 1, maxLength: 4 }).map((all) => [...all, 'z.ts'].join('/'))
  const ups = { '.': '.', a: '..', 'a/b': '../..' }
  fc.assert(
    fc.property(path, fc.constantFrom(...Object.entries(ups)), (name, [folder, up]) => {
      const here = join(home.folder, 'work', folder)
      expect([`${up}/${name}`, join(home.folder, 'work', name)].map((given) => nameInRepository(given, here)))
        .toEqual([name, name])
    }),
    { numRuns: 200 },
  )
})
