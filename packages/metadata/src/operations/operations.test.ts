import { describe, expect, test } from 'vitest'
import type { z } from 'zod'
import { serviceUrls } from '../service-urls.ts'
import { OPERATIONS, operations } from './operations.ts'

const urls = serviceUrls('https://plainpath.example')

test('every operation stands under its own name, which is a verb and what it acts on', () => {
  for (const [name, operation] of Object.entries(operations)) {
    expect(operation.operationId).toBe(name)
    expect(name).toMatch(
      /^(answer|get|list|join|forget|send|register|delete|create|replace|revoke|begin|complete|end)[A-Z][A-Za-z]+$/,
    )
  }
})

test('no two operations share a method and a path', () => {
  const places = OPERATIONS.map(({ method, path }) => `${method} ${path}`)
  expect(new Set(places).size).toBe(places.length)
})

test('only GET responses may be cached', () => {
  expect(OPERATIONS.filter(({ cache, method }) => cache && method !== 'get')).toEqual([])
})

describe.for(OPERATIONS)('$operationId', (operation) => {
  test('has an example of every answer with a body, and its schema accepts it', () => {
    for (const [status, schema] of Object.entries(operation.responses)) {
      const { example } = operation.outcomes[Number(status)] ?? {}
      if (schema === null) expect(example).toBeUndefined()
      else expectAccepted(schema, example?.(urls))
    }
  })

  test('has an example of every body it reads, and its schema accepts it', () => {
    const examples = Object.values(operation.bodyExamples ?? {})
    expect(examples.length > 0).toBe(operation.request?.body !== undefined)
    for (const example of examples) expectAccepted(operation.request?.body, example(urls))
  })
})

/** Nothing of the example may be lost either: a member that the schema does not know would be. */
function expectAccepted(schema: z.ZodType | undefined, example: unknown): void {
  const parsed = schema?.safeParse(example)
  expect(parsed?.error).toBeUndefined()
  expect(parsed?.data).toEqual(example)
}
