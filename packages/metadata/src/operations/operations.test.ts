import { describe, expect, test } from 'vitest'
import type { z } from 'zod'
import { createServiceUrls } from '../service-urls.ts'
import { OPERATION_LIST, operations } from './operations.ts'

const urls = createServiceUrls('https://plainpath.example')

test('the key of each operation is its operationId, which begins with a verb', () => {
  for (const [name, operation] of Object.entries(operations)) {
    expect(operation.operationId).toBe(name)
    expect(name).toMatch(
      /^(answer|get|list|join|forget|send|register|delete|create|replace|revoke|begin|complete|end)[A-Z][A-Za-z]+$/,
    )
  }
})

test('no two operations share a method and a path', () => {
  const endpoints = OPERATION_LIST.map(({ method, path }) => `${method} ${path}`)
  expect(new Set(endpoints).size).toBe(endpoints.length)
})

test('only GET operations can be cached', () => {
  expect(OPERATION_LIST.filter(({ cache, method }) => cache && method !== 'get')).toEqual([])
})

describe.for(OPERATION_LIST)('$operationId', (operation) => {
  test('has a valid example for each response with a body', () => {
    for (const [status, schema] of Object.entries(operation.responses)) {
      const { example } = operation.responseDocs[Number(status)] ?? {}
      // null declares a response without a body.
      if (schema === null) expect(example).toBeUndefined()
      else expectAccepted(schema, example?.(urls))
    }
  })

  test('has a valid example for each request body', () => {
    const examples = Object.values(operation.bodyExamples ?? {})
    expect(examples.length > 0).toBe(operation.request?.body !== undefined)
    for (const example of examples) expectAccepted(operation.request?.body, example(urls))
  })
})

/** Checks that a schema accepts an example unchanged: parsing drops or rejects members that the schema does not have. */
function expectAccepted(schema: z.ZodType | undefined, example: unknown): void {
  const parsed = schema?.safeParse(example)
  expect(parsed?.error).toBeUndefined()
  expect(parsed?.data).toEqual(example)
}
