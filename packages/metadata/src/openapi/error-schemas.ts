import { z } from 'zod'

/** RFC 9457 with our extension members. */
export const Problem = z.looseObject({
  type: z.url().meta({ description: 'The page that says what the error means and what to do next.' }),
  title: z.string(),
  status: z.int().min(400).max(599),
  detail: z.string().meta({ description: 'What is wrong in this request, and what to do next.' }),
  instance: z.string().meta({ description: 'The path of the request.' }),
  code: z
    .string()
    .regex(/^[a-z]+(-[a-z]+)*$/)
    .meta({ description: 'The last segment of `type`; decide by it.' }),
  request_id: z.string().meta({ description: 'Name it when you report a fault.' }),
  errors: z
    .array(
      z.object({
        pointer: z.string().meta({ description: 'A JSON pointer into the body (`#/email`), or `?limit`.' }),
        detail: z.string(),
      }),
    )
    .optional()
    .meta({ description: 'For invalid input: all its mistakes.' }),
})

const OAuthMembers = {
  error: z.string().meta({ description: 'The code, in the words of OAuth 2.0.' }),
  error_description: z.string(),
}

/** The same with the two members that OAuth clients read. */
export const AgentProblem = Problem.extend(OAuthMembers)

/** RFC 6749 §5.2. */
export const OAuthError = z.object({
  ...OAuthMembers,
  error_uri: z.url().meta({ description: 'The page that says what the error means and what to do next.' }),
})
