import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { TAGS } from '../operations/operation.ts'
import { OPERATION_LIST } from '../operations/operations.ts'
import { createServiceUrls } from '../service-urls.ts'
import { createOpenApiDescription } from './openapi-description.ts'
import { createPartQuery, type DescribedApi, selectOpenApiPart } from './openapi-part.ts'

const URLS = createServiceUrls('https://plainpath.example')
/** The description as clients receive it, without undefined members. */
const WHOLE_API = JSON.parse(JSON.stringify(createOpenApiDescription(URLS))) as DescribedApi
const OPERATION_IDS = OPERATION_LIST.map(({ operationId }) => operationId)

const measureBytes = (document: unknown) => Buffer.byteLength(JSON.stringify(document))

const listOperations = ({ paths }: DescribedApi) =>
  Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).flatMap(([method, operation]) =>
      method === 'servers' ? [] : [{ route: `${method} ${path}`, ...operation }],
    ),
  )

/** Lists all components, as references. */
const listComponents = ({ components }: DescribedApi) =>
  Object.entries(components).flatMap(([kind, byName]) =>
    Object.keys(byName).map((name) => `#/components/${kind}/${name}`),
  )

/** Finds the `$ref` targets in a document, and the security schemes that its operations name. */
function findReferences(document: DescribedApi): Set<string> {
  const text = JSON.stringify(document)
  return new Set([
    ...Array.from(text.matchAll(/"\$ref":"([^"]+)"/g), ([, target = '']) => target),
    ...listOperations(document).flatMap(({ security }) =>
      security.flatMap((requirement) =>
        Object.keys(requirement).map((name) => `#/components/securitySchemes/${name}`),
      ),
    ),
  ])
}

describe('the part of any set of operations', () => {
  const operationSets = fc.uniqueArray(fc.constantFrom(...OPERATION_IDS), { minLength: 1 })
  /** Checks a property of the parts for random sets of operations. */
  const checkParts = (property: (part: DescribedApi, ids: readonly string[]) => void) =>
    fc.assert(fc.property(operationSets, (ids) => property(selectOpenApiPart(WHOLE_API, new Set(ids)), ids)))

  test('has these operations, unchanged and in the order of the whole document', () => {
    checkParts((part, ids) => {
      const expected = listOperations(WHOLE_API).filter(({ operationId }) => ids.includes(operationId))
      expect(listOperations(part)).toEqual(expected)
      expect(expected).toHaveLength(ids.length)
    })
  })

  test('has every component that it refers to, and no other', () => {
    checkParts((part) => {
      expect(new Set(listComponents(part))).toEqual(findReferences(part))
    })
  })

  test('has the tags of its operations, and no other', () => {
    checkParts((part) => {
      const usedTags = listOperations(part).flatMap(({ tags }) => tags)
      expect(new Set(part.tags.map(({ name }) => name))).toEqual(new Set(usedTags))
    })
  })

  test('keeps the other top-level members and their order, and gives only /oauth paths their own servers', () => {
    checkParts((part) => {
      const { tags, paths, components } = part
      expect(part).toEqual({ ...WHOLE_API, tags, paths, components })
      expect(Object.keys(part)).toEqual(Object.keys(WHOLE_API))
      for (const [path, item] of Object.entries(paths))
        expect('servers' in item).toBe(path.startsWith('/oauth/'))
    })
  })

  test('does not depend on the order of the operation ids', () => {
    checkParts((part, ids) => {
      const reversed = selectOpenApiPart(WHOLE_API, new Set(ids.toReversed()))
      expect(JSON.stringify(reversed)).toBe(JSON.stringify(part))
    })
  })
})

test('the part with all operations equals the whole document, which therefore has no unused component', () => {
  expect(selectOpenApiPart(WHOLE_API, new Set(OPERATION_IDS))).toEqual(WHOLE_API)
})

test.for(OPERATION_IDS)('every schema in the part of %s compiles', (operationId) => {
  const part = selectOpenApiPart(WHOLE_API, new Set([operationId]))
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  ajv.addSchema({ ...part, $id: 'part' })
  for (const name of listComponents(part).filter((reference) => reference.includes('/schemas/')))
    expect(ajv.getSchema(`part${name}`), name).toBeTypeOf('function')
})

describe('the size that an agent has to read', () => {
  test('is at most 60,000 bytes for the whole document', () => {
    expect(measureBytes(WHOLE_API)).toBeLessThanOrEqual(60_000)
  })

  test.for(['getGuide', 'createToken', 'registerAgent', 'joinWaitlist'])(
    'is at most 8,000 bytes for the part of %s',
    (operationId) => {
      const createPart = createPartQuery(WHOLE_API, URLS).parse({ operation: operationId })
      expect(Buffer.byteLength(createPart!())).toBeLessThanOrEqual(8_000)
    },
  )
})

describe('the query', () => {
  const query = createPartQuery(WHOLE_API, URLS)
  /** Lists the ids of the operations in the part that a query selects. */
  const selectIds = (parameters: unknown) => {
    const createPart = query.parse(parameters)
    return listOperations(JSON.parse(createPart?.() ?? '{}') as DescribedApi).map(
      ({ operationId }) => operationId,
    )
  }

  test.for([[{}], [{ other: 'x' }]])('%j selects no part', ([parameters]) => {
    expect(query.parse(parameters)).toBeUndefined()
  })

  test.for([
    ['one operation', { operation: 'getGuide' }, ['getGuide']],
    ['operations separated by commas', { operation: 'getGuide,listGuides' }, ['listGuides', 'getGuide']],
    [
      'operations of repeated parameters',
      { operation: ['getGuide', 'listGuides,getGuide'] },
      ['listGuides', 'getGuide'],
    ],
    ['the operations of a tag', { tag: 'OAuth' }, ['createToken', 'revokeToken']],
    ['operations by tag and by id', { tag: 'Health', operation: 'getGuide' }, ['getGuide', 'getHealth']],
    ['one operation despite an unknown parameter', { operation: 'getHealth', x: '1' }, ['getHealth']],
  ] as const)('selects %s', ([, parameters, ids]) => {
    expect(selectIds(parameters)).toEqual(ids)
  })

  test.for([
    ['operation', 'getGuid', OPERATION_IDS],
    ['operation', '', OPERATION_IDS],
    ['operation', 'getGuide,', OPERATION_IDS],
    ['operation', 'getguide', OPERATION_IDS],
    ['operation', ['getGuide', 'toString'], OPERATION_IDS],
    ['tag', 'Guide', Object.keys(TAGS)],
  ] as const)('is rejected with %s=%j, and the error lists the valid names', ([name, value, validNames]) => {
    const { issues } = query.safeParse({ [name]: value }).error ?? {}
    expect(issues?.map(({ path }) => path)).toEqual([[name]])
    for (const validName of validNames) expect(issues?.[0]?.message).toContain(validName)
  })

  test('selects a part with a short description that has the address of the whole document', () => {
    const { info } = JSON.parse(query.parse({ operation: 'getHealth' })!()) as {
      info: { description: string }
    }
    expect(info).toEqual({ ...WHOLE_API.info, description: expect.stringContaining(URLS.openapi) })
    expect(info.description.length).toBeLessThan(200)
  })
})
