/**
 * The shared part of all frameworks' drivers. A driver is a separate program, because each framework runs in its own
 * folder and on the Node version it needs. `AGENT_URL` is an agent's URL, with a final slash, and `AGENT_KEY` the
 * calling agent's key. The driver prints one line of JSON: the outcome of each step.
 */
import process from 'node:process'

const realFetch = globalThis.fetch

/** The message to the agent in each step. The agent is the tests' responder. */
const requests = { send: ['How are you?'], stream: ['tck-stream-chunked'], turn: ['tck-multi-turn', 'done'] }

/** Calls `fetch` with the key. */
export function withKey(input, init = {}) {
  const headers = new Headers(init.headers)
  headers.set('Authorization', `Bearer ${process.env.AGENT_KEY}`)
  return realFetch(input, { ...init, headers })
}

/** Loads a package of the framework. The name is not a literal, because the package is not installed here. */
export function load(name) {
  return import(name)
}

/**
 * Runs each step and prints its outcome: `send(text)` resolves to the answer, `stream(text)` to its pieces, and
 * `turn(text, answer)` to the question and, if the framework can answer it, the end. A step that a framework does not
 * support is undefined.
 */
export async function report(steps) {
  // Frameworks print their own output.
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
