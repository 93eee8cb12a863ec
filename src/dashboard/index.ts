export { DashboardFiles } from './dashboard-files.ts'
