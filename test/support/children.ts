/** Node programs that runners start in tests. Some of them run until they are terminated. */

/** Prints its argument. Without an argument, prints its standard input. */
export const echo = `let input = ''
process.stdin.on('data', (text) => input += text).on('end', () => console.log(process.argv[2] ?? input))`

/** Reads all input and prints nothing. */
export const silent = 'process.stdin.resume()'

/** Runs until it is terminated. Writes its process id to the file `pid`. */
export const endless = `require('node:fs').writeFileSync('pid', String(process.pid))
process.stdin.resume()
setInterval(() => {}, 1000)`

/** Ignores SIGTERM, and starts a child that ignores it too. Writes both process ids to the file `pids`. */
export const stubborn = `const { spawn } = require('node:child_process')
const text = 'process.on("SIGTERM", () => {}); setInterval(() => {}, 1000)'
const child = spawn(process.execPath, ['-e', text], { stdio: 'inherit' })
require('node:fs').writeFileSync('pids', process.pid + ' ' + child.pid)
process.on('SIGTERM', () => {})
process.stdin.resume()`

/** Creates the file `begun`. Prints its input once the file `go` exists. */
export const waiting = `const { existsSync, writeFileSync } = require('node:fs')
let input = ''
process.stdin.on('data', (text) => input += text).on('end', () => {
  writeFileSync('begun', '')
  const timer = setInterval(() => existsSync('go') && (clearInterval(timer), console.log(input)), 5)
})`

/** Fails and prints a secret. Each run appends a letter to the file `runs`: `r` if the messages are redelivered. */
export const failing = `const { appendFileSync, readFileSync } = require('node:fs')
appendFileSync('runs', readFileSync(0, 'utf8').includes('"redelivered":true') ? 'r' : '.')
console.error('secret of this machine')
process.exitCode = 3`

/** Fails for messages from @bad. */
export const picky = `let input = ''
process.stdin.on('data', (text) => input += text).on('end', () => {
  if (input.includes('@bad')) process.exitCode = 1
  else console.log('fine')
})`

/** Prints the number of messages in its input. If there are several senders, prints an answer to each message. */
export const counting = `let input = ''
process.stdin.on('data', (text) => input += text).on('end', () => {
  const { messages } = JSON.parse(input)
  const isOne = new Set(messages.map(({ user }) => user)).size === 1
  if (isOne) console.log(messages.length)
  else {
    for (const { message_id, user } of messages) {
      console.log(JSON.stringify({ reply_to_message_id: message_id, message: 'to ' + user }))
    }
  }
})`
