/**
 * What the drivers of all frameworks share. A driver is a program of its own, because each framework runs in its own
 * folder and on the Node that it needs. `AGENT_URL` is the address of an agent, with a final slash, and `AGENT_KEY` the
 * key of the agent that calls. The driver prints one line of JSON: the outcome of each step.
 */
import process from 'node:process'

const realFetch = globalThis.fetch

/** What is said to the agent in each step: it is the responder of our tests. */
const requests = { send: ['How are you?'], stream: ['tck-stream-chunked'], turn: ['tck-multi-turn', 'done'] }

/** `fetch` with the key. */
export function withKey(input, init = {}) {
  const headers = new Headers(init.headers)
  headers.set('Authorization', `Bearer ${process.env.AGENT_KEY}`)
  return realFetch(input, { ...init, headers })
}

/** A package of the framework. The name is not a literal, because the package is not installed here. */
export function load(name) {
  return import(name)
}

/**
 * Take each step and print its outcome: `send(text)` resolves to the answer, `stream(text)` to the pieces of it, and
 * `turn(text, answer)` to the question and, if the framework can answer it, the end. A step that a framework does not
 * have is undefined.
 */
export async function report(steps) {
  // Frameworks print what they do.
  const print = console.log
  console.log = () => {}
  const results = {}
  for (const [name, args] of Object.entries(requests)) {
    try {
      results[name] = steps[name] ? { result: await steps[name](...args) } : { missing: true }
    } catch (error) {
      results[name] = { error: error?.stack ?? String(error) }
    }
  }
  print(JSON.stringify(results))
  process.exit(0)
}
