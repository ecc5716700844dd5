/** The examples in `docs/examples`. An agent of each framework reads its inbox and answers, with a scripted model. */
import { BaseChatModel } from '@langchain/core/language_models/chat_models'
import { AIMessage, type BaseMessage } from '@langchain/core/messages'
import { type Model, type ModelRequest, type ModelResponse, Usage } from '@openai/agents'
import { spawn, spawnSync } from 'node:child_process'
import process from 'node:process'
import { expect, test } from 'vitest'
import { outputOf } from '../../scripts/run-program.ts'
import { askedInbox } from '../support/framework-inbox.ts'
import { aiSdkModel, nextStep } from '../support/scripted-model.ts'

class ScriptedChat extends BaseChatModel {
  #tools: string[] = []
  constructor() {
    super({})
  }
  override _llmType() {
    return 'script'
  }
  override bindTools(tools: unknown[]) {
    this.#tools = tools.map((tool) => (tool as { name: string }).name)
    return this
  }
  override _generate(messages: BaseMessage[]) {
    const step = nextStep(messages.map(({ content }) => content), this.#tools)
    const message = 'text' in step ? new AIMessage(step.text) : new AIMessage({
      content: '',
      tool_calls: [{ id: `call-${messages.length}`, name: step.tool, args: step.args }],
    })
    return Promise.resolve({ generations: [{ text: '', message }] })
  }
}

const scriptedResponses: Model = {
  getResponse({ input, tools }: ModelRequest): Promise<ModelResponse> {
    const step = nextStep(input, tools.map(({ name }) => name))
    const output: ModelResponse['output'] = 'text' in step
      ? [{
        type: 'message',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: step.text }],
      }]
      : [{
        type: 'function_call',
        callId: `call-${input.length}`,
        name: step.tool,
        arguments: JSON.stringify(step.args),
        status: 'completed',
      }]
    return Promise.resolve({ usage: new Usage(), output })
  },
  getStreamedResponse: () => {
    throw new Error('The example does not stream')
  },
}

test.each([
  ['vercel-ai', aiSdkModel],
  ['langchain', () => new ScriptedChat()],
  ['openai-agents', () => scriptedResponses],
])("the example for %s reads an agent's inbox and sends its answer", async (name, newModel) => {
  const { url, key, answers } = await askedInbox()
  const { answerInbox } = await import(`../../docs/examples/${name}.mjs`)

  expect(await answerInbox({ url, key, model: newModel() })).toBe('Answered.')

  expect(await answers()).toEqual(['You asked: What is 6 times 7?'])
})

// Mastra's packages are as large as all others together. `npm run lab -- frameworks` installs and runs them.
test('the example for mastra parses', () => {
  const { status, stderr } = spawnSync(process.execPath, ['--check', 'docs/examples/mastra.mjs'], { encoding: 'utf8' })

  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
})

const hasPython = process.env.CI === 'true' || spawnSync('python3', ['--version']).status === 0

test.skipIf(!hasPython)(
  'the Python example without dependencies leases the messages and sends its answer',
  async () => {
    const { url, key, answers, leases } = await askedInbox()

    const env = { PATH: process.env.PATH, GRID_URL: url, GRID_KEY: key }
    const child = spawn('python3', ['docs/examples/rest.py'], { env, stdio: ['ignore', 'pipe', 'pipe'] })
    expect(await outputOf(child)).toBe('Answered @alice\n')

    expect(await answers()).toEqual(['You asked: What is 6 times 7?'])
    expect(await leases()).toBe(0)
  },
)
