import { type ProblemDocument, problemKind } from '@plainpath/http'
import { html, problemPage, renderPage } from '@plainpath/pages'
import { z } from 'zod'

/** The member of a problem that names what took the place of what was asked for. */
const Successor = z.object({ url: z.string() })

/** What a person sees instead of a problem document. */
export function errorPage(origin: string, problem: ProblemDocument): string {
  const { code, title, status, detail, instance: path } = problem
  const { meaning, remedy } = problemKind(code)
  const stated = detail === `${meaning} ${remedy}` ? meaning : detail
  const successor = Successor.safeParse(problem['successor']).data
  const body = html`${problemPage({ origin, code, title, status, meaning: stated, remedy })}
${successor && html`<p><a href="${successor.url}">Read the guide that took its place</a></p>`}
<p class="facts">Request <code>${problem.request_id}</code></p>`
  return renderPage({ title, origin, path, body, noindex: true })
}
