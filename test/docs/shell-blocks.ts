/** The shell blocks of documents, as readers copy them. See docs/contributing.md, "Documents are tested". */

export interface ShellBlock {
  /** The line of the page on which the block's fence is. */
  line: number
  text: string
  /** Whether the grid is stopped before the block runs. */
  isStopped: boolean
}

export interface PageBlocks {
  /** The blocks to run. */
  blocks: ShellBlock[]
  /** The reasons why the other shell blocks cannot run here, such as `docker`. */
  elsewhere: string[]
  /** Ambiguous code blocks. */
  faults: string[]
}

/** Languages of code blocks that are not for a shell. */
const others = ['json', 'text', 'ts', 'toml', 'yaml', 'nginx', 'caddyfile']
const fence = /^( *)```(.*)\n((?:.*\n)*?)^\1```$/gm

/** Returns a page's code blocks. The text after `sh` says how they run: none, `stopped`, or `other-machine REASON`. */
export function shellBlocksOf(page: string): PageBlocks {
  const found: PageBlocks = { blocks: [], elsewhere: [], faults: [] }
  let count = 0
  for (const { 1: indent, 2: info, 3: body, index } of page.matchAll(fence)) {
    count++
    const line = page.slice(0, index).split('\n').length
    const text = body.replace(new RegExp(`^${indent}`, 'gm'), '')
    const [language, how, ...reason] = info.trim().split(/\s+/)
    const fault = (why: string) => found.faults.push(`line ${line}: ${why}`)
    if (others.includes(language)) {
      if (/^\$ /m.test(text)) fault('a command with its output: make it a block "sh", and a block "text" below it')
    } else if (language !== 'sh') {
      fault(`"${info}" is neither "sh" nor one of ${others.join(', ')}`)
    } else if (how === 'other-machine') {
      if (reason.length > 0) found.elsewhere.push(reason.join(' '))
      else fault('other-machine needs a reason behind it')
    } else if (how === undefined || (how === 'stopped' && reason.length === 0)) {
      found.blocks.push({ line, text, isStopped: how === 'stopped' })
    } else {
      fault(`"${info}" is neither "sh", "sh stopped" nor "sh other-machine REASON"`)
    }
  }
  const ends = page.match(/^[\s>]*(```|~~~)/gm)?.length ?? 0
  if (ends !== 2 * count) found.faults.push('a fence is not closed, or not written with ```')
  return found
}
