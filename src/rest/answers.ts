/** What several answers of the REST side have. A test compares the schemas with real answers. */
import * as z from 'zod'

export const time = (description: string) => z.string().meta({ format: 'date-time', description })
export const flag = (description: string) => z.literal(true).optional().describe(description)
export const unread = (description: string) =>
  z.int().min(0).max(100).describe(`${description}; 100 stands for 100 or more`)
export const names = z.array(z.string())

export const turns = {
  turns: z.int().optional().describe('The turns of the conversation without input from outside'),
  note: z.string().optional().describe('What to do about them'),
}
