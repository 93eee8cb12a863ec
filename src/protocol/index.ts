/**
 * The protocol: one catalogue of operations, and what is made from it.
 */
export type { OperationInput, OperationName } from './catalogue.ts'
export { OPERATIONS, PUBLIC_OPERATIONS } from './catalogue.ts'
export { describe, misfit } from './check.ts'
export type { TypedKind } from './command-form.ts'
export { isNullable, typedKind, withoutNull } from './command-form.ts'
export { COMMAND_ROLES, rolesForCommand } from './command-roles.ts'
export { openApiDocument } from './openapi.ts'
export type { FigureMove, FigureRange, Figures, QueueLines } from './figures.ts'
export { FIGURE_RANGES } from './figures.ts'
export type { CommandTerms, Operation, OperationKind, Role, ScopeRule } from './operation.ts'
export { pathParameters, ROLES } from './operation.ts'
export type { LinkTerms } from './link-terms.ts'
export { LINK_PREFIX, linkTermsIn, partsOfLink, writtenLinkTerms } from './link-terms.ts'
export { LONGEST_POLL_WAIT_MS, MOST_COMMANDS_PER_REQUEST, MOST_PER_PAGE } from './parts.ts'
export type { ProblemDetails, ServerProblem } from './problems.ts'
export {
  PROBLEM_TYPE,
  problemDetails,
  PROBLEMS_OF_ALL,
  SERVER_PROBLEMS,
  STATUSES,
  statusOf,
} from './problems.ts'
export type { FoundRoute } from './routes.ts'
export { findRoute, pathOf } from './routes.ts'
export type { JsonSchema } from './schema.ts'
