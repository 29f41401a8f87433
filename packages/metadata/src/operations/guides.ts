import { Guide, GuideList, GuideSlug } from '@plainpath/domain'
import { z } from 'zod'
import type { ZodOpenApiMetadata } from 'zod-openapi'
import { defineOperation } from './operation.ts'

/** The maximum and default number of guides on a page. */
export const MAX_GUIDES_PER_PAGE = 100

/** The maximum length of a search text, in characters. */
export const MAX_SEARCH_CHARACTERS = 200

const LIMIT_MESSAGE = `must be a number from 1 to ${MAX_GUIDES_PER_PAGE}`

/* Query parameters arrive as text. The overrides describe numeric ones as the numbers that callers think of. */

const ListGuidesQuery = z.object({
  limit: z
    .string()
    .regex(/^\d{1,3}$/, LIMIT_MESSAGE)
    .transform(Number)
    .refine((limit) => limit >= 1 && limit <= MAX_GUIDES_PER_PAGE, LIMIT_MESSAGE)
    .optional()
    .meta({
      override: ({ jsonSchema }) => {
        delete jsonSchema.pattern
        Object.assign(jsonSchema, { type: 'integer', minimum: 1, maximum: MAX_GUIDES_PER_PAGE })
      },
      param: { description: `The number of guides on a page; ${MAX_GUIDES_PER_PAGE} by default.` },
    } satisfies ZodOpenApiMetadata),
  cursor: z
    .string()
    .optional()
    .meta({ param: { description: '`next` of the previous page.' } }),
  q: z
    .string()
    .trim()
    .min(1, 'must say what to look for')
    .max(MAX_SEARCH_CHARACTERS, `must have at most ${MAX_SEARCH_CHARACTERS} characters`)
    .optional()
    .meta({
      param: {
        description:
          'Words, a form number or a question to search for; misspellings are tolerated. The best guide comes first, each ' +
          'with a `snippet`. Not with `cursor`.',
      },
    }),
})

const GetGuideQuery = z.object({
  version: z
    .string()
    // At most nine digits, because PostgreSQL stores versions as 32-bit integers.
    .regex(/^[1-9]\d{0,8}$/, 'must be a number from 1')
    .transform(Number)
    .optional()
    .meta({
      override: ({ jsonSchema }) => {
        delete jsonSchema.pattern
        Object.assign(jsonSchema, { type: 'integer', minimum: 1 })
      },
      param: {
        description: 'An earlier version: its text as published then, and `stale` as of today.',
      },
    }),
})

const TOKEN_IS_OPTIONAL = 'A token is optional.'

export const listGuides = defineOperation({
  method: 'get',
  path: '/api/guides',
  operationId: 'listGuides',
  tag: 'Guides',
  summary: 'List published immigration guides with slugs and summaries',
  description: `\`q\` searches them. ${TOKEN_IS_OPTIONAL}`,
  access: 'public',
  cache: 'public',
  request: { query: ListGuidesQuery },
  responses: { 200: GuideList },
  responseDocs: {
    200: {
      description: 'The guides.',
      example: (urls) => ({
        guides: [
          {
            slug: 'work-permit',
            title: 'How to get a work permit',
            summary: 'Who can ask for one, and which form to send.',
            updated: '2026-11-20',
            reviewed: null,
            url: urls.guide('work-permit'),
            apiUrl: urls.guideJson('work-permit'),
          },
        ],
        next: null,
      }),
    },
  },
})

export const getGuide = defineOperation({
  method: 'get',
  path: '/api/guides/{slug}',
  operationId: 'getGuide',
  tag: 'Guides',
  summary: 'Read one guide as JSON, or as Markdown',
  description:
    '`Accept: text/markdown` gets the guide as one Markdown text. A retired guide is 410 `guide-retired`, whose ' +
    `\`successor\` names the guide to read instead. ${TOKEN_IS_OPTIONAL}`,
  access: 'public',
  cache: 'public',
  request: { params: z.object({ slug: GuideSlug }), query: GetGuideQuery },
  responses: { 200: Guide },
  alternativeMediaType: 'text/markdown',
  responseDocs: {
    200: {
      description: 'The guide, with its sources.',
      example: (urls) => ({
        slug: 'work-permit',
        url: urls.guide('work-permit'),
        title: 'How to get a work permit',
        summary: 'Who can ask for one, and which form to send.',
        body: 'A work permit shows that you may work in the United States. [1]',
        sources: [
          {
            title: 'Employment Authorization',
            url: 'https://www.uscis.gov/employment-authorization',
            agency: 'U.S. Citizenship and Immigration Services',
            kind: 'agency-page',
            checked: '2026-06-26',
            copyFrom: '2026-06-26',
            checkedBy: 'a copy saved that day by a third party',
            limitDays: 200,
            stale: false,
          },
        ],
        updated: '2026-11-20',
        reviewed: null,
        stale: false,
        statements: 1,
        staleStatements: 0,
        notChecked: [],
        history: [],
        version: 1,
        language: 'en',
        disclaimer: 'This guide is information, not legal advice.',
        talkToAnAttorneyWhen: ['You are in removal proceedings.'],
      }),
    },
  },
})
